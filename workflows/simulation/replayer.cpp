// Replays the messages of a traced run on a platform that workflows/simulation/platform.py described.
//
//   replayer PLATFORM.xml TRACES PROCESSES PROCESSES_PER_NODE FACTORS [SimGrid options]
//
// TRACES holds rank-<r>.txt, in SimGrid's time-independent format; compute amounts are nanoseconds on the traced
// host. FACTORS are PROCESSES numbers, separated by commas, by which each rank's compute amounts are multiplied.
// Prints a line for each operation `mark` (mark RANK SECONDS), for each rank when it ends
// (rank RANK SECONDS COMPUTE_SECONDS), for the program itself (memory KIB), and at the very end (end SECONDS).
//
// What a message costs: see messages.hpp.

#include "messages.hpp"

#include <cstdlib>
#include <set>
#include <smpi/smpi.h>
#include <xbt/replay.hpp>

namespace {

std::vector<double> factors;
std::vector<double> computed;
std::vector<s4u::Host*> hosts; // of each rank
std::set<int> ended;
std::string folder;

// Registered anew by each rank's SMPI start, so ours replaces it only after all have started.
void register_operations()
{
  xbt_replay_action_register("compute", [](simgrid::xbt::ReplayAction& words) {
    int rank       = std::stoi(words.at(0));
    double amount  = std::stod(words.at(2)) * factors.at(rank);
    double started = s4u::Engine::get_clock();
    smpi_execute_flops(amount);
    computed.at(rank) += s4u::Engine::get_clock() - started;
  });
  // One-sided: a transfer in which the target does nothing. What is fetched is asked for first. A rank's own memory
  // is no transfer, so a serial run is the same on every interconnect.
  auto transfer = [](bool asks) {
    return [asks](simgrid::xbt::ReplayAction& words) {
      if (words.at(0) == words.at(2))
        return;
      auto* here   = s4u::this_actor::get_host();
      auto* there  = hosts.at(std::stoi(words.at(2)));
      double bytes = std::stod(words.at(3)) + ENVELOPE_BYTES;
      if (asks)
        s4u::Comm::sendto(here, there, ENVELOPE_BYTES);
      s4u::Comm::sendto(asks ? there : here, asks ? here : there, bytes);
    };
  };
  for (const char* name : {"put", "accumulate"})
    xbt_replay_action_register(name, transfer(false));
  for (const char* name : {"get", "fetch"})
    xbt_replay_action_register(name, transfer(true));
  xbt_replay_action_register("mark", [](simgrid::xbt::ReplayAction& words) {
    std::printf("mark %s %.9f\n", words.at(0).c_str(), s4u::Engine::get_clock());
  });
}

void replay(int rank, const s4u::BarrierPtr& all_started)
{
  std::string name = std::to_string(rank);
  smpi_replay_init("replay", rank, 0);
  all_started->wait();
  register_operations();
  try {
    smpi_replay_main(rank, (folder + "/rank-" + name + ".txt").c_str());
  } catch (const std::logic_error& error) { // a word that is missing or is no number
    std::string told(error.what());
    std::replace(told.begin(), told.end(), '\n', ' ');
    std::fprintf(stderr, "replayer: rank %d: %s\n", rank, told.c_str());
    std::_Exit(3);
  }
  ended.insert(rank);
  std::printf("rank %d %.9f %.9f\n", rank, s4u::Engine::get_clock(), computed[rank]);
}

} // namespace

int main(int argc, char** argv)
{
  smpi_init_options();
  s4u::Engine engine(&argc, argv);
  if (argc != 6) {
    std::fprintf(stderr, "usage: replayer PLATFORM TRACES PROCESSES PROCESSES_PER_NODE FACTORS\n");
    return 2;
  }
  folder             = argv[2];
  int processes      = std::stoi(argv[3]);
  int per_node       = std::stoi(argv[4]);
  std::istringstream numbers(argv[5]);
  for (std::string number; std::getline(numbers, number, ',');)
    factors.push_back(std::stod(number));
  if (static_cast<int>(factors.size()) != processes) {
    std::fprintf(stderr, "replayer: %zu factors for %d processes\n", factors.size(), processes);
    return 2;
  }
  computed.assign(processes, 0.0);

  engine.load_platform(argv[1]);
  Messages messages(engine.get_netzone_root());
  auto cost = [&messages](Part part) {
    return [&messages, part](size_t size, const s4u::Host* from, const s4u::Host* to) {
      return messages.seconds(static_cast<double>(size), from, to, part);
    };
  };
  smpi_register_op_cost_callback(SmpiOperation::SEND, cost(&Knot::send));
  smpi_register_op_cost_callback(SmpiOperation::ISEND, cost(&Knot::send));
  smpi_register_op_cost_callback(SmpiOperation::RECV, cost(&Knot::receive));

  SMPI_app_instance_register("replay", nullptr, processes);
  SMPI_init();
  auto all_started = s4u::Barrier::create(processes);
  for (int rank = 0; rank < processes; rank++) {
    hosts.push_back(engine.host_by_name("node-" + std::to_string(rank / per_node)));
    s4u::Actor::create(std::to_string(rank), hosts.back(), replay, rank, all_started);
  }
  engine.run();
  if (static_cast<int>(ended.size()) < processes) {
    std::string waiting;
    for (int rank = 0; rank < processes && waiting.size() < 60; rank++)
      if (!ended.count(rank))
        waiting += (waiting.empty() ? "" : ", ") + std::to_string(rank);
    std::fprintf(stderr, "replayer: deadlock after %.6f s: %zu of %d ranks wait for messages that never come (%s)\n",
                 s4u::Engine::get_clock(), processes - ended.size(), processes, waiting.c_str());
    return 3;
  }
  SMPI_finalize();
  std::printf("memory %ld\n", most_memory_kB());
  std::printf("end %.9f\n", s4u::Engine::get_clock());
}
