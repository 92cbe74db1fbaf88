// Collective operations of Open MPI 4.1 on up to 255 ranks, where SimGrid's selector `ompi` differs: the selector makes
// the same choices, but uses other trees for some broadcasts and reductions, or fails.
//
// The choice of the tree by size is from coll_tuned_decision_fixed.c of Open MPI 4.1.4, the trees are from
// coll_base_topo.c. Open MPI does not segment messages there. tests/simulation/test_collectives.py compares the
// messages with those of the library. More ranks use the choices for 255 ranks.

#pragma once

#include "collectives.hpp"
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <vector>

namespace simgrid::smpi {
int allreduce__rdb(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int bcast__scatter_rdb_allgather(void*, int, MPI_Datatype, int, MPI_Comm);
} // namespace simgrid::smpi

namespace openmpi {

using namespace collectives;

constexpr double ANY = INFINITY;

enum class Tree { LINEAR, CHAIN, BINARY, BINOMIAL, IN_ORDER_BINOMIAL, KNOMIAL, SCATTER };

struct Choice {
  double below_ranks, below_bytes;
  Tree tree;
};

constexpr Choice BCAST[] = {
    {4, 32, Tree::CHAIN},       {4, 256, Tree::BINARY},      {4, 512, Tree::CHAIN},      {4, 1024, Tree::KNOMIAL},
    {4, 32768, Tree::LINEAR},   {4, 131072, Tree::BINARY},   {4, 262144, Tree::CHAIN},   {4, 524288, Tree::LINEAR},
    {4, 1048576, Tree::BINOMIAL}, {4, ANY, Tree::BINARY},    {8, 64, Tree::BINARY},      {8, 128, Tree::BINOMIAL},
    {8, 2048, Tree::BINARY},    {8, 8192, Tree::BINOMIAL},   {8, 1048576, Tree::LINEAR}, {8, ANY, Tree::CHAIN},
    {16, 8, Tree::KNOMIAL},     {16, 64, Tree::BINARY},      {16, 4096, Tree::KNOMIAL},  {16, 16384, Tree::BINARY},
    {16, 32768, Tree::BINOMIAL}, {16, ANY, Tree::LINEAR},    {32, 4096, Tree::KNOMIAL},  {32, 1048576, Tree::BINOMIAL},
    {32, ANY, Tree::SCATTER},   {64, 2048, Tree::BINOMIAL},  {128, ANY, Tree::KNOMIAL},  {256, 2, Tree::BINOMIAL},
    {256, 16384, Tree::BINARY}, {256, 32768, Tree::LINEAR},  {256, 65536, Tree::BINARY}, {ANY, ANY, Tree::KNOMIAL}};

// Without Rabenseifner's algorithm, which Open MPI uses below 8 bytes on two and three ranks.
constexpr Choice REDUCE[] = {
    {4, 8, Tree::IN_ORDER_BINOMIAL}, {4, 16, Tree::BINARY},  {4, 32, Tree::CHAIN},   {4, 262144, Tree::LINEAR},
    {4, ANY, Tree::CHAIN},           {8, 4096, Tree::BINARY}, {8, 65536, Tree::CHAIN}, {8, 262144, Tree::IN_ORDER_BINOMIAL},
    {8, 524288, Tree::LINEAR},       {8, 1048576, Tree::IN_ORDER_BINOMIAL},          {8, ANY, Tree::LINEAR},
    {16, 8192, Tree::BINARY},        {16, ANY, Tree::IN_ORDER_BINOMIAL},             {32, 4096, Tree::BINARY},
    {ANY, ANY, Tree::IN_ORDER_BINOMIAL}};

// {ranks, bytes per rank}: below both, rank 0 gathers all parts and broadcasts them.
constexpr double ALLGATHERV_BY_ROOT[][2] = {{3, 0}, {8, 256}, {16, 1024}, {32, 128}, {128, 256}, {ANY, 0}};

template <size_t count> Tree choose(const Choice (&among)[count], int ranks, double bytes)
{
  for (const Choice& choice : among)
    if (ranks < choice.below_ranks && bytes < choice.below_bytes)
      return choice.tree;
  return among[count - 1].tree;
}

// Neighbours of a rank in a tree. Ranks are numbered from the root on.
struct Family {
  int parent = -1;
  std::vector<int> children;
};

inline Family binary(int own, int ranks)
{
  int level = static_cast<int>(std::log2(own + 1)), width = 1 << level;
  Family found;
  for (int child : {own + width, own + 2 * width})
    if (child < ranks)
      found.children.push_back(child);
  int above    = width / 2; // nodes of the level above, the last of which is width - 2
  found.parent = own - above > width - 2 ? own - width : own - above;
  return found;
}

inline Family knomial(int own, int ranks)
{
  constexpr int RADIX = 4;
  Family found;
  int mask = 1;
  for (; mask < ranks; mask *= RADIX)
    if (own % (RADIX * mask)) {
      found.parent = own / (mask * RADIX) * (mask * RADIX);
      break;
    }
  for (mask /= RADIX; mask > 0; mask /= RADIX)
    for (int times = 1; times < RADIX; times++)
      if (own + mask * times < ranks)
        found.children.push_back(own + mask * times);
  return found;
}

inline Family family(Tree tree, int own, int ranks)
{
  Family found;
  switch (tree) {
    case Tree::LINEAR:
      found.parent = 0;
      for (int child = 1; own == 0 && child < ranks; child++)
        found.children.push_back(child);
      break;
    case Tree::CHAIN:
      found.parent = own - 1;
      if (own + 1 < ranks)
        found.children.push_back(own + 1);
      break;
    case Tree::BINOMIAL: {
      int mask = 1;
      while (mask <= own)
        mask <<= 1;
      for (found.parent = own ^ (mask >> 1); mask < ranks && (own ^ mask) < ranks; mask <<= 1)
        found.children.push_back(own ^ mask);
      break;
    }
    case Tree::IN_ORDER_BINOMIAL:
      for (int mask = 1; mask < ranks; mask <<= 1) {
        if ((own ^ mask) < own) {
          found.parent = own ^ mask;
          break;
        }
        if ((own ^ mask) < ranks)
          found.children.push_back(own ^ mask);
      }
      break;
    case Tree::KNOMIAL:
      found = knomial(own, ranks);
      break;
    default:
      found = binary(own, ranks);
  }
  return found;
}

struct Place {
  int rank, ranks, root;
  MPI_Comm comm;
  Place(int root, MPI_Comm comm) : root(root), comm(comm)
  {
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &ranks);
  }
  Family in(Tree tree) const { return family(tree, (rank - root + ranks) % ranks, ranks); }
  int whose(int number) const { return (number + root) % ranks; }
};

inline int bcast_along(Tree tree, void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
  Place place(root, comm);
  Family own = place.in(tree);
  if (place.rank != root)
    PMPI_Recv(buffer, count, type, place.whose(own.parent), TAG, comm, MPI_STATUS_IGNORE);
  std::vector<MPI_Request> requests(own.children.size());
  for (size_t i = 0; i < requests.size(); i++)
    PMPI_Isend(buffer, count, type, place.whose(own.children[i]), TAG, comm, &requests[i]);
  return PMPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

inline int bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
  Tree tree = choose(BCAST, Place(root, comm).ranks, bytes_of(count, type));
  if (tree == Tree::SCATTER)
    return simgrid::smpi::bcast__scatter_rdb_allgather(buffer, count, type, root, comm);
  return bcast_along(tree, buffer, count, type, root, comm);
}

inline int reduce_along(Tree tree, const void* from, void* to, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
  Place place(root, comm);
  Family own = place.in(tree);
  for (int child : own.children)
    PMPI_Recv(to, count, type, place.whose(child), TAG, comm, MPI_STATUS_IGNORE);
  return place.rank == root ? MPI_SUCCESS : PMPI_Send(from, count, type, place.whose(own.parent), TAG, comm);
}

inline int reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op, int root, MPI_Comm comm)
{
  return reduce_along(choose(REDUCE, Place(root, comm).ranks, bytes_of(count, type)), from, to, count, type, root, comm);
}

decltype(colls::allgatherv) chosen_allgatherv;
decltype(colls::allreduce) chosen_allreduce;
decltype(colls::alltoallv) chosen_alltoallv;

// A ring needs one element per rank, Rabenseifner's algorithm one element per rank of the largest power of two. With
// fewer elements, Open MPI uses recursive doubling, or a linear reduction and a linear broadcast.
inline int allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm)
{
  int ranks  = Place(0, comm).ranks, halves = 1;
  double bytes = bytes_of(count, type), ring_below = ranks < 4 ? 8 : ranks < 8 ? 16 : ranks < 16 ? 0 : ranks < 32 ? 64 : 128;
  while (2 * halves <= ranks)
    halves *= 2;
  if (ranks < 64 && bytes < std::min(ring_below, ELEMENT_BYTES * ranks))
    return simgrid::smpi::allreduce__rdb(from, to, count, type, operation, comm);
  if (ranks >= 32 && ranks < 64 && bytes < ELEMENT_BYTES * halves) {
    reduce_along(Tree::LINEAR, from, to, count, type, 0, comm);
    return bcast_along(Tree::LINEAR, to, count, type, 0, comm);
  }
  return chosen_allreduce(from, to, count, type, operation, comm);
}

inline int allgatherv(const void* from, int count, MPI_Datatype type, void* to, const int* counts, const int* places,
                      MPI_Datatype into, MPI_Comm comm)
{
  Place place(0, comm);
  double all = std::accumulate(counts, counts + place.ranks, 0.0);
  auto most = std::begin(ALLGATHERV_BY_ROOT);
  while (place.ranks >= (*most)[0])
    most++;
  if (all * bytes_of(1, into) / place.ranks >= (*most)[1])
    return chosen_allgatherv(from, count, type, to, counts, places, into, comm);
  if (place.rank)
    PMPI_Send(from, count, type, 0, TAG, comm);
  for (int rank = 1; place.rank == 0 && rank < place.ranks; rank++)
    PMPI_Recv(to, counts[rank], into, rank, TAG, comm, MPI_STATUS_IGNORE);
  return bcast(to, static_cast<int>(all), into, 0, comm);
}

// Pairwise exchange, where Open MPI uses it and SimGrid cannot: SimGrid's algorithm needs a power of two.
inline int alltoallv(const void* from, const int* counts, const int* places, MPI_Datatype type, void* to,
                     const int* to_counts, const int* to_places, MPI_Datatype into, MPI_Comm comm)
{
  Place place(0, comm);
  bool pairs = place.ranks < 4 || (place.ranks >= 64 && place.ranks < 128) || place.ranks >= 256;
  if (!pairs || (place.ranks & (place.ranks - 1)) == 0)
    return chosen_alltoallv(from, counts, places, type, to, to_counts, to_places, into, comm);
  for (int step = 1; step < place.ranks; step++) {
    int next = (place.rank + step) % place.ranks, before = (place.rank - step + place.ranks) % place.ranks;
    PMPI_Sendrecv(from, counts[next], type, next, TAG, to, to_counts[before], into, before, TAG, comm, MPI_STATUS_IGNORE);
  }
  return MPI_SUCCESS;
}

// Replaces algorithms of SimGrid, after SimGrid has chosen its algorithms.
inline void replace_algorithms()
{
  chosen_allgatherv = replace(colls::allgatherv, &allgatherv, "smpi/allgatherv");
  chosen_allreduce  = replace(colls::allreduce, &allreduce, "smpi/allreduce");
  chosen_alltoallv  = replace(colls::alltoallv, &alltoallv, "smpi/alltoallv");
  replace(colls::bcast, &bcast, "smpi/bcast");
  replace(colls::reduce, &reduce, "smpi/reduce");
}

} // namespace openmpi
