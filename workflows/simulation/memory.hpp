// Peak resident memory of this program. getrusage would include the memory of its parent at the time of the fork.

#pragma once

#include <fstream>
#include <string>

inline long peak_memory_kB()
{
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0)
      return std::stol(line.substr(6));
  return 0;
}
