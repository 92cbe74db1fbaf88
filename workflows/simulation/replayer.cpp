// Replays the messages of a traced run on a platform that workflows/simulation/platform.py described.
//
//   replayer PLATFORM.xml TRACES PROCESSES PROCESSES_PER_NODE FACTORS [SimGrid options]
//
// TRACES holds rank-<r>.txt, in SimGrid's time-independent format; compute amounts are nanoseconds on the traced
// host. FACTORS are PROCESSES numbers, separated by commas, by which each rank's compute amounts are multiplied.
// Prints a line for each operation `mark` (mark RANK SECONDS), for each rank when it ends
// (rank RANK SECONDS COMPUTE_SECONDS), for the program itself (memory KIB), and at the very end (end SECONDS); where the
// platform has the property tell_messages, for each message that is sent (message HOST HOST BYTES).
//
// What a message costs: see messages.hpp.

#include "messages.hpp"
#include "mpich.hpp"
#include "openmpi.hpp"

#include <cstdlib>
#include <smpi/smpi.h>
#include <unordered_map>
#include <utility>
#include <xbt/replay.hpp>

namespace {

constexpr double PRECISION = 1e-9; // SimGrid's, see platform.py: it rounds shorter times up

using Words     = simgrid::xbt::ReplayAction;
using Operation = std::function<void(Words&)>;

// Each has a core of its own. Where those of a node do not slow each other down, computing takes a time that is known.
// It is due until the rank does what others notice: a time that passes costs the simulator nearly as much as a message.
struct Rank {
  std::string name;
  s4u::Host* host;
  double seconds_per_amount;
  double due           = 0.0;
  double busy_until    = 0.0; // with a message that has left
  double computed      = 0.0;
  double handles_until = 0.0; // messages that carry one-sided calls, one after another
  bool ended           = false;
  s4u::MutexPtr computing = s4u::Mutex::create(); // locked meanwhile, where others may ask for an answer
};

std::vector<Rank> ranks;
std::string folder;
double eager_limit;
bool by_messages; // how one-sided calls are carried
double own_work;  // seconds that such a message takes its receiver longer than another
double flush_work; // seconds that completing them at a target takes where no message carries them
double window_work; // seconds that a window takes, beside the barriers where it is made and freed
std::vector<std::pair<double, double>> after_work; // how long a rank computed, and how much later that has it communicate
const Messages* messages;
double corun; // how much longer a rank computes for each other of its node that computes at the same time

Rank& this_rank()
{
  return ranks.at(s4u::this_actor::get_pid() - 1); // the numbers that SMPI's own operations suppose
}

// Seconds until a rank has done with the message that it sent last.
double take_busy(Rank& rank)
{
  return std::max(0.0, std::exchange(rank.busy_until, 0.0) - s4u::Engine::get_clock());
}

double take_due(Rank& rank)
{
  rank.due += take_busy(rank);
  return rank.due < PRECISION ? 0.0 : std::exchange(rank.due, 0.0);
}

void let_due_pass(Rank& rank)
{
  bool locks = by_messages && (rank.due > 0.0 || rank.busy_until > s4u::Engine::get_clock());
  if (locks)
    rank.computing->lock();
  double due = take_due(rank), begun = s4u::Engine::get_clock();
  if (corun > 0.0 && due > 0.0) {
    s4u::this_actor::execute(due * rank.host->get_speed());
    rank.computed += s4u::Engine::get_clock() - begun - due;
  } else {
    s4u::this_actor::sleep_for(due);
  }
  if (locks)
    rank.computing->unlock();
}

// A receive that is posted is not, unless its sender waits for it. What is due before an isend passes with its cost,
// unless it may take longer.
bool others_notice(const Words& words)
{
  const std::string& name = words[1];
  return name != "compute" && (name != "isend" || corun > 0.0) &&
         !(name == "irecv" && words.size() == 5 && std::stod(words[4]) <= eager_limit);
}

// Linear between the points, from none to the first, constant from the last on.
double later_after(double work)
{
  std::pair<double, double> low = {0.0, 0.0};
  for (const auto& high : after_work) {
    if (work < high.first)
      return low.second + (high.second - low.second) * (work - low.first) / (high.first - low.first);
    low = high;
  }
  return low.second;
}

void compute(Words& words)
{
  Rank& rank     = this_rank();
  double seconds = std::stod(words.at(2)) * rank.seconds_per_amount;
  rank.due += seconds + later_after(seconds);
  rank.computed += seconds;
}

// One-sided: a transfer in which the target does nothing. What is fetched is asked for first; where messages carry it,
// the target sends it and the rank receives it. A rank's own memory is no transfer, so a serial run is the same on
// every interconnect.
template <bool ASKS> void transfer(Words& words)
{
  if (words.at(0) == words.at(2))
    return;
  Rank& target = ranks.at(std::stoi(words.at(2)));
  auto* here   = s4u::this_actor::get_host();
  double size = std::stod(words.at(3)), bytes = size + ENVELOPE_BYTES;
  if (ASKS)
    s4u::Comm::sendto(here, target.host, ENVELOPE_BYTES);
  s4u::Comm::sendto(ASKS ? target.host : here, ASKS ? here : target.host, bytes);
  if (!ASKS || !by_messages)
    return;
  auto cost      = [&](Part part) { return messages->seconds(size, target.host, here, part); };
  double sending = cost(&Knot::send) + cost(&Knot::after);
  target.due += sending;
  s4u::this_actor::sleep_for(sending + cost(&Knot::receive) + own_work);
}

// Until a rank has handled a message, after those before it.
void handle(Rank& rank, double seconds, double after = 0)
{
  double done        = std::max(s4u::Engine::get_clock(), rank.handles_until) + seconds;
  rank.handles_until = done + after;
  s4u::this_actor::sleep_until(done);
}

// What was done to the targets is complete there. Where messages carry one-sided calls, each target is asked for that: it
// answers as soon as it does not compute, and lacks that time later unless it waits for an answer itself.
void flush(Words& words)
{
  Rank& rank = this_rank();
  if (!by_messages) {
    rank.due += flush_work * static_cast<double>(words.size() - 2);
    return;
  }
  for (size_t word = 2; word < words.size(); word++) {
    Rank& target = ranks.at(std::stoi(words[word]));
    auto cost    = [&](Part part) { return messages->seconds(0, rank.host, target.host, part); };
    double sending = cost(&Knot::send), receiving = cost(&Knot::receive) + own_work, after = cost(&Knot::after);
    handle(rank, sending, after);
    double waits = s4u::Engine::get_clock();
    s4u::Comm::sendto(rank.host, target.host, ENVELOPE_BYTES);
    target.computing->lock();
    target.computing->unlock();
    target.due += receiving + sending + after;
    handle(target, receiving + sending, after);
    s4u::Comm::sendto(target.host, rank.host, ENVELOPE_BYTES);
    handle(rank, receiving);
    rank.due = std::max(0.0, rank.due - (s4u::Engine::get_clock() - waits));
  }
}

void window(Words&)
{
  this_rank().due += window_work;
}

void mark(Words& words)
{
  std::printf("mark %s %.9f\n", words[0].c_str(), s4u::Engine::get_clock());
}

// Ours, or else SMPI's.
const Operation& operation(const std::string& name)
{
  static std::unordered_map<std::string, Operation> known = {
      {"compute", compute}, {"mark", mark},           {"put", transfer<false>}, {"accumulate", transfer<false>},
      {"get", transfer<true>}, {"fetch", transfer<true>}, {"flush", flush},
      {"window", window}};
  auto found = known.find(name);
  if (found == known.end()) {
    try {
      found = known.emplace(name, xbt_replay_action_get(name.c_str())).first;
    } catch (const std::out_of_range&) {
      throw std::invalid_argument("operation " + name + " is unknown");
    }
  }
  return found->second;
}

// Words take the memory of those before them.
void split(const std::string& line, Words& words)
{
  size_t count = 0;
  for (size_t begin, end = 0; (begin = line.find_first_not_of(' ', end)) != line.npos; count++) {
    end = std::min(line.find(' ', begin), line.size());
    if (count == words.size())
      words.emplace_back();
    words[count].assign(line, begin, end - begin);
  }
  words.resize(count);
}

// SMPI's own reader takes a sixth of the time of a replay.
void replay_lines(Rank& rank)
{
  std::ifstream lines(folder + "/rank-" + rank.name + ".txt");
  if (!lines)
    throw std::invalid_argument("has no trace");
  Words words;
  for (std::string line; std::getline(lines, line);) {
    split(line, words);
    if (words.size() < 2 || words[0] != rank.name)
      throw std::invalid_argument("not an operation of this rank: " + line);
    const Operation& carry_out = operation(words[1]);
    if (others_notice(words))
      let_due_pass(rank);
    carry_out(words);
  }
  words = {rank.name, "waitall"}; // for what the trace did not wait for
  let_due_pass(rank);
  operation("waitall")(words);
}

void replay(Rank& rank)
{
  smpi_replay_init("replay", std::stoi(rank.name), 0);
  try {
    replay_lines(rank);
  } catch (const std::logic_error& error) { // a word that is missing or is no number
    std::string text(error.what());
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::fprintf(stderr, "replayer: rank %s: %s\n", rank.name.c_str(), text.c_str());
    std::_Exit(3);
  }
  MPI_Finalize();
  rank.ended = true;
  std::printf("rank %s %.9f %.9f\n", rank.name.c_str(), s4u::Engine::get_clock(), rank.computed);
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
  folder        = argv[2];
  int processes = std::stoi(argv[3]);
  int per_node  = std::stoi(argv[4]);
  engine.load_platform(argv[1]);
  if (const char* told = engine.get_netzone_root()->get_property("corun_percent"))
    corun = std::stod(told) / 100;
  std::istringstream numbers(argv[5]);
  for (std::string number; std::getline(numbers, number, ',');) {
    auto* host = engine.host_by_name("node-" + std::to_string(ranks.size() / per_node));
    ranks.push_back({std::to_string(ranks.size()), host, std::stod(number) / host->get_speed()});
  }
  if (static_cast<int>(ranks.size()) != processes) {
    std::fprintf(stderr, "replayer: %zu factors for %d processes\n", ranks.size(), processes);
    return 2;
  }
  if (per_node > ranks[0].host->get_core_count()) {
    std::fprintf(stderr, "replayer: %d processes on a node of %d cores\n", per_node, ranks[0].host->get_core_count());
    return 2;
  }

  if (corun > 0.0)
    for (s4u::Host* host : engine.get_all_hosts())
      host->set_sharing_policy(s4u::Host::SharingPolicy::NONLINEAR, [cores = host->get_core_count()](double all, int n) {
        return n ? all / cores * n / (1 + corun * (n - 1)) : all;
      });

  Messages costs(engine.get_netzone_root());
  messages    = &costs;
  eager_limit = costs.eager_limit;
  own_work    = std::stod(engine.get_netzone_root()->get_property("one_sided_us")) * 1e-6;
  flush_work  = std::stod(engine.get_netzone_root()->get_property("flush_us")) * 1e-6;
  window_work = std::stod(engine.get_netzone_root()->get_property("window_us")) * 1e-6;
  std::istringstream points(engine.get_netzone_root()->get_property("after_work_us"));
  for (double work, later; processes > 1 && points >> work >> later;)
    after_work.emplace_back(work * 1e-6, later * 1e-6);
  by_messages = engine.get_netzone_root()->get_property("one_sided") == std::string("messages");
  auto cost = [](Part part) {
    return [part](size_t size, const s4u::Host* from, const s4u::Host* to) {
      return messages->seconds(static_cast<double>(size), from, to, part);
    };
  };
  auto receive = [](size_t size, const s4u::Host* from, const s4u::Host* to) {
    return messages->receiving(static_cast<double>(size), from, to, take_busy(this_rank()));
  };
  bool tells = engine.get_netzone_root()->get_property("tell_messages");
  auto send = [cost, tells](size_t size, s4u::Host* from, s4u::Host* to) {
    if (tells)
      std::printf("message %s %s %zu\n", from->get_cname(), to->get_cname(), size);
    Rank& rank = this_rank();
    double sending  = take_due(rank) + cost(&Knot::send)(size, from, to);
    rank.busy_until = s4u::Engine::get_clock() + sending + cost(&Knot::after)(size, from, to);
    return sending;
  };
  smpi_register_op_cost_callback(SmpiOperation::SEND, send);
  smpi_register_op_cost_callback(SmpiOperation::ISEND, send);
  smpi_register_op_cost_callback(SmpiOperation::RECV, receive);

  SMPI_app_instance_register("replay", nullptr, processes);
  SMPI_init();
  if (engine.get_netzone_root()->get_property("mpi") == std::string("mpich"))
    mpich::take_over(per_node);
  else
    openmpi::take_over();
  for (Rank& rank : ranks)
    s4u::Actor::create(rank.name, rank.host, replay, std::ref(rank));
  engine.run();
  std::string waiting;
  int count = 0;
  for (const Rank& rank : ranks)
    if (!rank.ended && ++count && waiting.size() < 60)
      waiting += (waiting.empty() ? "" : ", ") + rank.name;
  if (count) {
    std::fprintf(stderr, "replayer: deadlock after %.6f s: %d of %d ranks wait for messages that never come (%s)\n",
                 s4u::Engine::get_clock(), count, processes, waiting.c_str());
    return 3;
  }
  SMPI_finalize();
  std::printf("memory %ld\n", most_memory_kB());
  std::printf("end %.9f\n", s4u::Engine::get_clock());
}
