// Collective operations of MPICH 4.0, where SimGrid's selector `mpich` differs.
//
// The choice of the algorithm by size is from maint/tuning/coll/{mpir,ch4}/generic.json of MPICH 4.0.2, the algorithms
// are from its sources. If nodes have several ranks, a leader of each node communicates with the other nodes. Inside a
// node, MPICH uses a shared buffer, which is replayed as messages along a binomial tree.
// tests/simulation/test_collectives.py compares the messages with those of the library.

#pragma once

#include "collectives.hpp"
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace mpich {

using namespace collectives;

int ranks_of_node = 1;

constexpr double SHORT_BCAST = 12288, LONG_BCAST = 524288, SHORT_REDUCE = 2048, SHORT_ALLREDUCE = 8,
                 LONG_REDUCE_SCATTER = 524288, LONG_ALLGATHER = 524288,
                 LONG_ALLGATHER_ODD = 81920, ALLGATHERV_PART = 32768, SHORT_ALLTOALL = 256;
constexpr int FEW_RANKS = 8; // a broadcast to fewer ranks is never scattered

// Ranks of a communicator, identified by their index in the group. The content of messages is irrelevant.
struct Group {
  MPI_Comm comm;
  std::vector<int> members;
  int index = -1; // index of this rank; -1 if it is not a member

  Group(MPI_Comm comm, std::vector<int> ranks) : comm(comm), members(std::move(ranks))
  {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    for (int i = 0; i < size(); i++)
      if (members[i] == rank)
        index = i;
  }
  int size() const { return static_cast<int>(members.size()); }
  int power_of_two() const // the largest up to the size
  {
    int power = 1;
    while (2 * power <= size())
      power *= 2;
    return power;
  }
  void send(int to, double bytes) const
  {
    PMPI_Send(buffer(bytes), static_cast<int>(bytes), MPI_BYTE, members[to], TAG, comm);
  }
  void receive(int from, double bytes) const
  {
    PMPI_Recv(buffer(bytes), static_cast<int>(bytes), MPI_BYTE, members[from], TAG, comm, MPI_STATUS_IGNORE);
  }
  void exchange(int to, double out, int from, double in) const
  {
    char* data = buffer(std::max(out, in));
    PMPI_Sendrecv(data, static_cast<int>(out), MPI_BYTE, members[to], TAG, data, static_cast<int>(in), MPI_BYTE,
                  members[from], TAG, comm, MPI_STATUS_IGNORE);
  }
  void scatter_all(double bytes) const // messages to all other ranks at once
  {
    std::vector<MPI_Request> requests;
    auto add = [&] { return &requests.emplace_back(MPI_REQUEST_NULL); };
    requests.reserve(2 * members.size());
    for (int i = 1; i < size(); i++)
      PMPI_Irecv(buffer(bytes), static_cast<int>(bytes), MPI_BYTE, members[(index + i) % size()], TAG, comm, add());
    for (int i = 1; i < size(); i++)
      PMPI_Isend(buffer(bytes), static_cast<int>(bytes), MPI_BYTE, members[(index - i + size()) % size()], TAG, comm, add());
    PMPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

private:
  static char* buffer(double bytes)
  {
    static std::map<size_t, std::vector<char>> blocks; // by size, powers of two: a buffer in use is never moved
    size_t size = 1024;
    while (size < bytes)
      size *= 2;
    auto& block = blocks[size];
    block.resize(size);
    return block.data();
  }
};

inline void barrier(const Group& group)
{
  int n = group.size();
  for (int mask = 1; mask < n; mask *= 2)
    group.exchange((group.index + mask) % n, 0, (group.index - mask + n) % n, 0);
}

// Messages from the root down a binomial tree, to the largest subtree first. `bytes_to(number, mask)` is the size of
// the message to the rank with this number from the root on, whose subtree has `mask` ranks.
template <class Bytes> void down_binomial(const Group& group, int root, Bytes bytes_to)
{
  int n = group.size(), number = (group.index - root + n) % n, mask = 1;
  for (; mask < n; mask *= 2)
    if (number & mask) {
      if (double bytes = bytes_to(number, mask); bytes > 0)
        group.receive((number - mask + root) % n, bytes);
      break;
    }
  for (mask /= 2; mask > 0; mask /= 2)
    if (number + mask < n)
      if (double bytes = bytes_to(number + mask, mask); bytes > 0)
        group.send((number + mask + root) % n, bytes);
}

inline void bcast(const Group& group, int root, double bytes)
{
  int n = group.size(), number = (group.index - root + n) % n;
  if (n < FEW_RANKS || bytes <= SHORT_BCAST)
    return down_binomial(group, root, [bytes](int, int) { return bytes; });
  double piece = static_cast<double>((static_cast<long>(bytes) + n - 1) / n);
  auto held    = [bytes, piece, n](int from, int count) {
    return std::clamp(bytes - from * piece, 0.0, std::min(count, n - from) * piece);
  };
  down_binomial(group, root, held);
  if (n == group.power_of_two() && bytes <= LONG_BCAST)
    for (int mask = 1; mask < n; mask *= 2) {
      int other = number ^ mask, with = (other + root) % n;
      group.exchange(with, held(number / mask * mask, mask), with, held(other / mask * mask, mask));
    }
  else
    for (int step = 0; step + 1 < n; step++)
      group.exchange((group.index + 1) % n, held((number - step + n) % n, 1), (group.index - 1 + n) % n,
                     held((number - step - 1 + n) % n, 1));
}

// If the number of ranks is not a power of two, some of the first ranks pass their part to a neighbour. The remaining
// ranks, a power of two, are numbered from 0.
struct Folded {
  const Group& group;
  int rest, number = -1; // number of this rank; -1 if it passed its part on
  bool odd_stay;
  Folded(const Group& group, bool odd_stay, double bytes)
      : group(group), rest(group.size() - group.power_of_two()), odd_stay(odd_stay)
  {
    if (group.index >= 2 * rest)
      number = group.index - rest;
    else if (group.index % 2 == odd_stay) {
      group.receive(group.index ^ 1, bytes);
      number = group.index / 2;
    } else
      group.send(group.index ^ 1, bytes);
  }
  int whose(int other) const { return other < rest ? 2 * other + odd_stay : other + rest; }
  void unfold(double bytes) const
  {
    if (group.index >= 2 * rest || bytes <= 0)
      return;
    if (number < 0)
      group.receive(group.index ^ 1, bytes);
    else
      group.send(group.index ^ 1, bytes);
  }
};

struct Range {
  int from, to;
};

// Recursive halving of the range of each rank, mask by mask. Returns all ranges that this rank had. `places` are the
// begin of each number's part, and the end of the last part.
inline std::vector<Range> halve(const Folded& folded, const std::vector<double>& places, const std::vector<int>& masks)
{
  std::vector<Range> had{{0, folded.group.power_of_two()}};
  for (int mask : masks) {
    Range all = had.back(), low{all.from, (all.from + all.to) / 2}, high{low.to, all.to};
    bool first = not(folded.number & mask);
    Range keep = first ? low : high, give = first ? high : low;
    int with   = folded.whose(folded.number ^ mask);
    folded.group.exchange(with, places[give.to] - places[give.from], with, places[keep.to] - places[keep.from]);
    had.push_back(keep);
  }
  return had;
}

inline std::vector<int> powers(int below)
{
  std::vector<int> found;
  for (int mask = 1; mask < below; mask *= 2)
    found.push_back(mask);
  return found;
}

// Begin of each of several equal parts, in bytes, and the end of the last part.
inline std::vector<double> shared_out(double bytes, int among)
{
  long elements = static_cast<long>(bytes / ELEMENT_BYTES);
  std::vector<double> places(among + 1);
  for (int i = 0; i < among; i++)
    places[i + 1] = places[i] + ELEMENT_BYTES * static_cast<double>(elements / among + (i < elements % among));
  return places;
}

inline void reduce_binomial(const Group& group, int root, double bytes)
{
  int n = group.size(), number = (group.index - root + n) % n;
  for (int mask = 1; mask < n; mask *= 2) {
    if (number & mask)
      return group.send((number - mask + root) % n, bytes);
    if (number + mask < n)
      group.receive((number + mask + root) % n, bytes);
  }
}

inline void reduce(const Group& group, int root, double bytes)
{
  int count = group.power_of_two();
  if (bytes <= SHORT_REDUCE || bytes < ELEMENT_BYTES * count)
    return reduce_binomial(group, root, bytes);
  Folded folded(group, false, bytes);
  auto places = shared_out(bytes, count);
  auto masks  = powers(count);
  std::vector<Range> had;
  if (folded.number >= 0)
    had = halve(folded, places, masks);
  int top = root < 2 * folded.rest ? root / 2 : root - folded.rest;
  if (root < 2 * folded.rest && root % 2) { // the root passed its part on: it replaces number 0
    top = 0;
    if (group.index == root) {
      group.receive(0, places[1]);
      folded.number = 0;
      had           = {{0, count}};
      for (int mask : masks)
        had.push_back({0, count / (2 * mask)});
    } else if (folded.number == 0) {
      group.send(root, places[1]);
      return;
    }
  }
  if (folded.number < 0)
    return;
  for (size_t step = masks.size(); step-- > 0;) {
    int other = folded.number ^ masks[step];
    int with  = other == 0 && root < 2 * folded.rest && root % 2 ? root : folded.whose(other);
    Range index = had[step + 1], all = had[step];
    double mine = places[index.to] - places[index.from];
    if (other / masks[step] == top / masks[step])
      return group.send(with, mine);
    group.receive(with, places[all.to] - places[all.from] - mine);
  }
}

inline void allreduce(const Group& group, double bytes)
{
  int count = group.power_of_two();
  Folded folded(group, true, bytes);
  if (folded.number >= 0) {
    auto masks = powers(count);
    if (bytes <= SHORT_ALLREDUCE || bytes < ELEMENT_BYTES * count)
      for (int mask : masks) {
        int with = folded.whose(folded.number ^ mask);
        group.exchange(with, bytes, with, bytes);
      }
    else {
      auto places = shared_out(bytes, count);
      auto had    = halve(folded, places, masks);
      for (size_t step = masks.size(); step-- > 0;) {
        int with    = folded.whose(folded.number ^ masks[step]);
        double mine = places[had[step + 1].to] - places[had[step + 1].from];
        group.exchange(with, mine, with, places[had[step].to] - places[had[step].from] - mine);
      }
    }
  }
  folded.unfold(bytes);
}

inline Group everyone(MPI_Comm comm)
{
  int ranks;
  PMPI_Comm_size(comm, &ranks);
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return {comm, all};
}

// The ranks of this rank's node, and the leaders: the first rank of each node.
struct Nodes {
  Group node, leaders;
  std::vector<int> node_of; // index of the node's leader, by rank
  static Nodes of(MPI_Comm comm)
  {
    int ranks, rank;
    PMPI_Comm_size(comm, &ranks);
    PMPI_Comm_rank(comm, &rank);
    MPI_Group group, all;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    std::vector<int> local_ranks(ranks), world_ranks(ranks), node_of(ranks), leaders, members;
    std::iota(local_ranks.begin(), local_ranks.end(), 0);
    PMPI_Group_translate_ranks(group, ranks, local_ranks.data(), all, world_ranks.data());
    PMPI_Group_free(&group);
    PMPI_Group_free(&all);
    std::map<int, int> leader_of_node;
    for (int i = 0; i < ranks; i++) {
      int node            = world_ranks[i] / ranks_of_node;
      auto [entry, first] = leader_of_node.try_emplace(node, static_cast<int>(leaders.size()));
      if (first)
        leaders.push_back(i);
      node_of[i] = entry->second;
    }
    for (int i = 0; i < ranks; i++)
      if (node_of[i] == node_of[rank])
        members.push_back(i);
    return {{comm, members}, {comm, leaders}, node_of};
  }
  bool is_leader() const { return leaders.index >= 0; }
  bool has(int root) const { return node_of[root] == node_of[node.members[node.index]]; }
  int place(int rank) const // index in the node
  {
    return static_cast<int>(std::find(node.members.begin(), node.members.end(), rank) - node.members.begin());
  }
  bool several() const // several nodes, and a node with several ranks
  {
    return leaders.size() > 1 && leaders.size() < static_cast<int>(node_of.size());
  }
};

inline int barrier(MPI_Comm comm)
{
  Nodes nodes = Nodes::of(comm);
  if (nodes.several()) {
    reduce_binomial(nodes.node, 0, 0);
    if (nodes.is_leader())
      barrier(nodes.leaders);
    bcast(nodes.node, 0, 1);
  } else
    barrier(everyone(comm));
  return MPI_SUCCESS;
}

inline int bcast(void*, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
  double bytes = bytes_of(count, type);
  Group all    = everyone(comm);
  Nodes nodes  = Nodes::of(comm);
  bool few = all.size() < FEW_RANKS, small = few || bytes < SHORT_BCAST;
  if (not nodes.several() || not(small || (all.size() == all.power_of_two() && bytes < LONG_BCAST))) {
    bcast(all, root, bytes);
    return MPI_SUCCESS;
  }
  int leader = nodes.leaders.members[nodes.node_of[root]];
  bool node_has_data = false;
  if (root != leader && nodes.has(root)) {
    node_has_data = not small;
    if (node_has_data)
      bcast(nodes.node, nodes.place(root), bytes);
    else if (all.index == root)
      nodes.node.send(0, bytes);
    else if (all.index == leader)
      nodes.node.receive(nodes.place(root), bytes);
  }
  if (nodes.is_leader())
    bcast(nodes.leaders, nodes.node_of[root], bytes);
  if (not node_has_data)
    bcast(nodes.node, 0, bytes);
  return MPI_SUCCESS;
}

inline int reduce(const void*, void*, int count, MPI_Datatype type, MPI_Op, int root, MPI_Comm comm)
{
  double bytes = bytes_of(count, type);
  Group all    = everyone(comm);
  Nodes nodes  = Nodes::of(comm);
  if (not nodes.several())
    reduce(all, root, bytes);
  else if (bytes <= SHORT_REDUCE) {
    if (not nodes.has(root))
      reduce(nodes.node, 0, bytes);
    if (nodes.is_leader())
      reduce(nodes.leaders, nodes.node_of[root], bytes);
    if (nodes.has(root))
      reduce(nodes.node, nodes.place(root), bytes);
  } else {
    reduce(nodes.node, 0, bytes);
    if (nodes.is_leader())
      reduce(nodes.leaders, 0, bytes);
    if (root && all.index == 0)
      all.send(root, bytes);
    else if (root && all.index == root)
      all.receive(0, bytes);
  }
  return MPI_SUCCESS;
}

inline int allreduce(const void*, void*, int count, MPI_Datatype type, MPI_Op, MPI_Comm comm)
{
  double bytes = bytes_of(count, type);
  Nodes nodes  = Nodes::of(comm);
  if (nodes.several()) {
    reduce(nodes.node, 0, bytes);
    if (nodes.is_leader())
      allreduce(nodes.leaders, bytes);
    bcast(nodes.node, 0, bytes);
  } else
    allreduce(everyone(comm), bytes);
  return MPI_SUCCESS;
}

inline int reduce_scatter(const void*, void*, const int* counts, MPI_Datatype type, MPI_Op, MPI_Comm comm)
{
  Group all = everyone(comm);
  int n     = all.size();
  double each = bytes_of(1, type), total = each * std::accumulate(counts, counts + n, 0.0);
  if (total >= LONG_REDUCE_SCATTER) {
    for (int step = 1; step < n; step++) {
      int to = (all.index + step) % n, from = (all.index - step + n) % n;
      all.exchange(to, each * counts[to], from, each * counts[all.index]);
    }
    return MPI_SUCCESS;
  }
  Folded folded(all, true, total);
  if (folded.number >= 0) {
    std::vector<double> places{0};
    for (int i = 0; i < all.power_of_two(); i++) {
      int whose = folded.whose(i);
      places.push_back(places.back() + each * (counts[whose] + (whose < 2 * folded.rest ? counts[whose - 1] : 0)));
    }
    auto masks = powers(all.power_of_two());
    halve(folded, places, {masks.rbegin(), masks.rend()});
  }
  if (all.index < 2 * folded.rest)
    folded.unfold(each * counts[all.index / 2 * 2]);
  return MPI_SUCCESS;
}

// All-gather around a ring, in segments of at most `part` bytes. `bytes` is the size of each rank's contribution.
inline void ring(const Group& all, const std::vector<double>& bytes, double part)
{
  struct Flow { // segments that a rank sends, or receives
    const std::vector<double>& bytes;
    int whose, left;
    double done = 0;
    double next(double part)
    {
      double now = left ? std::min(part, bytes[whose] - done) : 0;
      done += now;
      if (left && done >= bytes[whose]) {
        done  = 0;
        whose = (whose - 1 + static_cast<int>(bytes.size())) % static_cast<int>(bytes.size());
        left--;
      }
      return now;
    }
  };
  int n = all.size(), right = (all.index + 1) % n, before = (all.index - 1 + n) % n;
  Flow out{bytes, all.index, n - 1}, in{bytes, before, n - 1};
  while (out.left || in.left) {
    double sent = out.next(part), received = in.next(part);
    if (sent > 0 && received > 0)
      all.exchange(right, sent, before, received);
    else if (sent > 0)
      all.send(right, sent);
    else if (received > 0)
      all.receive(before, received);
  }
}

inline bool by_ring(const Group& all, double total)
{
  return total >= (all.size() == all.power_of_two() ? LONG_ALLGATHER : LONG_ALLGATHER_ODD);
}

decltype(colls::allgather) chosen_allgather;
decltype(colls::allgatherv) chosen_allgatherv;
decltype(colls::alltoall) chosen_alltoall;

inline int allgather(const void* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype into, MPI_Comm comm)
{
  Group all   = everyone(comm);
  double each = bytes_of(to_count, into);
  if (not by_ring(all, each * all.size()))
    return chosen_allgather(from, count, type, to, to_count, into, comm);
  ring(all, std::vector<double>(all.size(), each), each);
  return MPI_SUCCESS;
}

inline int allgatherv(const void* from, int count, MPI_Datatype type, void* to, const int* counts, const int* places,
                      MPI_Datatype into, MPI_Comm comm)
{
  Group all = everyone(comm);
  std::vector<double> bytes;
  for (int i = 0; i < all.size(); i++)
    bytes.push_back(bytes_of(counts[i], into));
  if (not by_ring(all, std::accumulate(bytes.begin(), bytes.end(), 0.0)))
    return chosen_allgatherv(from, count, type, to, counts, places, into, comm);
  ring(all, bytes, ALLGATHERV_PART);
  return MPI_SUCCESS;
}

// On eight ranks, SimGrid uses Bruck's algorithm replace.
inline int alltoall(const void* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype into, MPI_Comm comm)
{
  Group all   = everyone(comm);
  double each = bytes_of(to_count, into);
  if (all.size() != FEW_RANKS || each > SHORT_ALLTOALL)
    return chosen_alltoall(from, count, type, to, to_count, into, comm);
  all.scatter_all(each);
  return MPI_SUCCESS;
}

// Replaces algorithms of SimGrid, after SimGrid has chosen its algorithms.
inline void replace_algorithms(int per_node)
{
  ranks_of_node     = per_node;
  chosen_allgather  = replace(colls::allgather, &allgather, "smpi/allgather");
  chosen_allgatherv = replace(colls::allgatherv, &allgatherv, "smpi/allgatherv");
  chosen_alltoall   = replace(colls::alltoall, &alltoall, "smpi/alltoall");
  replace(colls::allreduce, static_cast<decltype(colls::allreduce)>(&allreduce), "smpi/allreduce");
  replace(colls::barrier, static_cast<decltype(colls::barrier)>(&barrier), "smpi/barrier");
  replace(colls::bcast, static_cast<decltype(colls::bcast)>(&bcast), "smpi/bcast");
  replace(colls::reduce, static_cast<decltype(colls::reduce)>(&reduce), "smpi/reduce");
  replace(colls::reduce_scatter, &reduce_scatter, "smpi/reduce_scatter");
}

} // namespace mpich
