// Trees and tori of switches as links that packets pass, numbered as analysis/topics/congestion/topology.py does.

#pragma once

#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

// A link ends at a node or at a switch. Whoever waits for a link waits at a gate: for one link, or for any of several;
// of a torus, for one class of a link's virtual channels.
struct Link {
  int gates[2] = {-1, -1}; // by class; the same two where there are none
  int node     = -1;       // its end, -1 for a switch
  int from     = -1;       // node whose packets enter here
};

class Topology {
public:
  std::vector<Link> links;
  int nodes = 0, gates = 0;

  virtual ~Topology() = default;
  virtual int entry(int node) const = 0;
  // Gate that a packet waits at when it has passed a link that ends at a switch.
  virtual int gate(int link, int source, int destination) const = 0;

protected:
  int add_gate() { return gates++; }
};

inline std::vector<int> whole_numbers(const std::string& text)
{
  std::vector<int> found;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');)
    found.push_back(std::stoi(word));
  return found;
}

// Switch (t, j) of level l is above the nodes t below[l] ... (t + 1) below[l] - 1. Down the tree there is one way; up
// it, that to the destination's number modulo the switches of the level, or any, adaptively.
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
      for (int one = 0; one < subtrees * here; one++)
        add(height + 1, one / here / down[height], one % here);
      first_down.push_back(links.size());
      for (int one = 0; one < subtrees * here; one++)
        add(height, one / here, one % here % paths[height]);
      for (int one = 0; one < subtrees * here; one++) {
        Link& upwards = links[first_up[height] + one];
        int path = one % here, sibling = path % paths[height]; // the first link up of the same switch
        bool shares      = adaptive && path != sibling;
        upwards.gates[0] = upwards.gates[1] = shares ? links[first_up[height] + one - path + sibling].gates[0] : add_gate();
        if (height == 0)
          upwards.from = one;
        Link& downwards    = links[first_down[height] + one];
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
    int way = adaptive ? at.path : destination % paths[at.level + 1];
    return links[first_up[at.level] + at.subtree * paths[at.level + 1] + way].gates[0];
  }
};

// A switch at every node; packets go along one dimension after another, the shorter way round. Once round the end of a
// dimension they take the second class of channels, so that no ring of packets waits for itself.
class Torus : public Topology {
  std::vector<int> sizes, strides, ends;
  std::vector<int> ways; // first link of each dimension upwards and downwards

  int coordinate(int node, int dimension) const { return node / strides[dimension] % sizes[dimension]; }

  void add(int end, bool classes)
  {
    links.emplace_back();
    ends.push_back(end);
    links.back().gates[0] = add_gate();
    links.back().gates[1] = classes ? add_gate() : links.back().gates[0];
  }

public:
  explicit Torus(const std::vector<int>& of_sizes) : sizes(of_sizes), strides(of_sizes.size(), 1)
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
        ways.push_back(links.size());
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
      int begun    = coordinate(source, dimension);
      bool turned  = upwards ? here < begun : here > begun;
      return links[ways[2 * dimension + !upwards] + at].gates[turned];
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
