// What the collective operations of every MPI library share here: SimGrid's table of them, which ours are put into.

#pragma once

#include <smpi/smpi.h>
#include <string>
#include <utility>
#include <xbt/config.hpp>

namespace simgrid::smpi {
struct colls { // as in SimGrid's own header, which Debian does not install
  static int (*allgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  static int (*allgatherv)(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, MPI_Comm);
  static int (*allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
  static int (*alltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  static int (*alltoallv)(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                          MPI_Comm);
  static int (*barrier)(MPI_Comm);
  static int (*bcast)(void*, int, MPI_Datatype, int, MPI_Comm);
  static int (*reduce)(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
  static int (*reduce_scatter)(const void*, void*, const int*, MPI_Datatype, MPI_Op, MPI_Comm);
};
} // namespace simgrid::smpi

namespace collectives {

using simgrid::smpi::colls;

constexpr int TAG              = 2147483000; // no program's
constexpr double ELEMENT_BYTES = 8;          // of what is reduced: traces have bytes

inline double bytes_of(int count, MPI_Datatype type)
{
  int size;
  PMPI_Type_size(type, &size);
  return static_cast<double>(count) * size;
}

// Where the interconnect's file does not name an algorithm.
template <class Operation> Operation instead(Operation& chosen, Operation ours, const char* key)
{
  bool named = not simgrid::config::get_value<std::string>(key).empty();
  return named ? chosen : std::exchange(chosen, ours);
}

} // namespace collectives
