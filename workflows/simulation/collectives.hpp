// Common to the collective operations of every MPI library: SimGrid's table of algorithms, in which the files
// openmpi.hpp and mpich.hpp replace entries.

#pragma once

#include <smpi/smpi.h>
#include <string>
#include <utility>
#include <xbt/config.hpp>

namespace simgrid::smpi {
struct colls { // as declared in a header of SimGrid that Debian does not install
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

constexpr int TAG              = 2147483000; // unused by applications
constexpr double ELEMENT_BYTES = 8;          // size of a reduced element; traces state bytes only

inline double bytes_of(int count, MPI_Datatype type)
{
  int size;
  PMPI_Type_size(type, &size);
  return static_cast<double>(count) * size;
}

// Replaces SimGrid's algorithm, unless the interconnect's file names an algorithm. Returns SimGrid's algorithm.
template <class Operation> Operation replace(Operation& entry, Operation algorithm, const char* key)
{
  bool is_named = not simgrid::config::get_value<std::string>(key).empty();
  return is_named ? entry : std::exchange(entry, algorithm);
}

} // namespace collectives
