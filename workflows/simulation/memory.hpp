// Most memory that this program had; getrusage would count what its parent had when it was started.

#pragma once

#include <fstream>
#include <string>

inline long most_memory_kB()
{
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0)
      return std::stol(line.substr(6));
  return 0;
}
