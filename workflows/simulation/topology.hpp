// Links of trees and tori of switches, numbered as in analysis/topics/congestion/topology.py.

#pragma once

#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

// A link ends at a node or at a switch. A packet that needs a link waits at a gate. A gate belongs to a single link, to
// several links of which the packet takes any, or, in a torus, to one class of the virtual channels of a link.
struct Link {
  int gates[2] = {-1, -1}; // by class of channels; equal if there are no classes
  int node     = -1;       // node at its end, -1 for a switch
  int from     = -1;       // node whose packets enter here
};

class Topology {
public:
  std::vector<Link> links;
  int nodes = 0, gates = 0;

  virtual ~Topology() = default;
  virtual int entry(int node) const = 0;
  // Gate of the next link of a packet that has passed a link to a switch.
  virtual int gate(int link, int source, int destination) const = 0;

protected:
  int add_gate() { return gates++; }
};

inline std::vector<int> whole_numbers(const std::string& text)
{
  std::vector<int> numbers;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');)
    numbers.push_back(std::stoi(word));
  return numbers;
}

// Switch (t, j) of level l is above the nodes t below[l] ... (t + 1) below[l] - 1. Down the tree there is a single
// route. Up the tree, deterministic routing takes the link with the destination's number modulo the switches of the
// level; adaptive routing takes any link.
class Tree : public Topology {
  struct End {
    int level, subtree, path;
  };
  std::vector<int> below{1}, paths{1}, first_up, first_down;
  std::vector<End> ends;
  const bool adaptive;

  void add(int level, int subtree, int path)
  {
    links.emplace_back();
    links.back().node = level ? -1 : subtree;
    ends.push_back({level, subtree, path});
  }

public:
  Tree(const std::vector<int>& down, const std::vector<int>& up, bool adapts) : adaptive(adapts)
  {
    for (size_t level = 0; level < down.size(); level++) {
      below.push_back(below.back() * down[level]);
      paths.push_back(level ? paths.back() * up[level - 1] : 1);
    }
    nodes = below.back();
    for (size_t height = 0; height < down.size(); height++) {
      int subtrees = nodes / below[height], here = paths[height + 1];
      first_up.push_back(links.size());
      for (int index = 0; index < subtrees * here; index++)
        add(height + 1, index / here / down[height], index % here);
      first_down.push_back(links.size());
      for (int index = 0; index < subtrees * here; index++)
        add(height, index / here, index % here % paths[height]);
      for (int index = 0; index < subtrees * here; index++) {
        Link& upwards = links[first_up[height] + index];
        int path = index % here, sibling = path % paths[height]; // first link up of the same switch
        bool shares      = adaptive && path != sibling;
        upwards.gates[0] = upwards.gates[1] = shares ? links[first_up[height] + index - path + sibling].gates[0] : add_gate();
        if (height == 0)
          upwards.from = index;
        Link& downwards    = links[first_down[height] + index];
        downwards.gates[0] = downwards.gates[1] = add_gate();
      }
    }
  }

  int entry(int node) const override { return first_up[0] + node; }

  int gate(int link, int, int destination) const override
  {
    const End& at = ends[link];
    if (destination / below[at.level] == at.subtree)
      return links[first_down[at.level - 1] + destination / below[at.level - 1] * paths[at.level] + at.path].gates[0];
    int path = adaptive ? at.path : destination % paths[at.level + 1];
    return links[first_up[at.level] + at.subtree * paths[at.level + 1] + path].gates[0];
  }
};

// A switch at every node. Packets are routed in dimension order, the shorter way round each ring. After the end of a
// ring they take the second class of channels, so that no cycle of packets waits for itself.
class Torus : public Topology {
  std::vector<int> sizes, strides, ends;
  std::vector<int> first_links; // of each dimension, upwards and downwards

  int coordinate(int node, int dimension) const { return node / strides[dimension] % sizes[dimension]; }

  void add(int end, bool classes)
  {
    links.emplace_back();
    ends.push_back(end);
    links.back().gates[0] = add_gate();
    links.back().gates[1] = classes ? add_gate() : links.back().gates[0];
  }

public:
  explicit Torus(const std::vector<int>& ring_sizes) : sizes(ring_sizes), strides(ring_sizes.size(), 1)
  {
    for (int dimension = sizes.size() - 2; dimension >= 0; dimension--)
      strides[dimension] = strides[dimension + 1] * sizes[dimension + 1];
    nodes = strides[0] * sizes[0];
    for (int node = 0; node < nodes; node++) {
      add(node, false);
      links.back().from = node;
    }
    for (int node = 0; node < nodes; node++) {
      add(node, false);
      links.back().node = node;
    }
    for (size_t dimension = 0; dimension < sizes.size(); dimension++)
      for (int step : {1, -1}) {
        int size = sizes[dimension];
        first_links.push_back(links.size());
        if (size > 2 || (size == 2 && step == 1))
          for (int node = 0; node < nodes; node++) {
            int here = coordinate(node, dimension);
            add(node + ((here + step + size) % size - here) * strides[dimension], true);
          }
      }
  }

  int entry(int node) const override { return node; }

  int gate(int link, int source, int destination) const override
  {
    int at = ends[link];
    for (size_t dimension = 0; dimension < sizes.size(); dimension++) {
      int here = coordinate(at, dimension), size = sizes[dimension];
      int steps = (coordinate(destination, dimension) - here + size) % size;
      if (steps == 0)
        continue;
      bool upwards = 2 * steps <= size;
      int start    = coordinate(source, dimension);
      bool wrapped = upwards ? here < start : here > start;
      return links[first_links[2 * dimension + !upwards] + at].gates[wrapped];
    }
    return links[nodes + at].gates[0];
  }
};

// From "tree DOWN UP adaptive" or "tree DOWN UP deterministic" (UP is - for a single switch), or "torus SIZES".
inline std::unique_ptr<Topology> read_topology(const std::string& text)
{
  std::istringstream words(text);
  std::string kind, sizes, up, routing;
  words >> kind >> sizes >> up >> routing;
  if (kind == "tree")
    return std::make_unique<Tree>(whole_numbers(sizes), whole_numbers(up == "-" ? "" : up), routing == "adaptive");
  if (kind == "torus")
    return std::make_unique<Torus>(whole_numbers(sizes));
  throw std::invalid_argument("unknown topology " + kind);
}
