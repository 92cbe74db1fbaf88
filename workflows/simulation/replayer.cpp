// Replays the messages of a traced run on a platform that workflows/simulation/platform.py wrote.
//
//   replayer PLATFORM.xml TRACES PROCESSES PROCESSES_PER_NODE FACTORS [SimGrid options]
//
// TRACES is a folder with rank-<r>.txt in SimGrid's time-independent format. Compute amounts are nanoseconds on the
// traced host. FACTORS are PROCESSES numbers, separated by commas: factors of the compute amounts of each rank.
//
// Prints one line for each operation `mark` (mark RANK SECONDS) and for each rank at its end
// (rank RANK SECONDS COMPUTE_SECONDS), then the peak memory (memory KIB) and the simulated time (end SECONDS). If the
// platform has the property "print_messages", it prints each message that is sent (message HOST HOST BYTES).
//
// messages.hpp describes the costs of messages.

#include "messages.hpp"
#include "mpich.hpp"
#include "openmpi.hpp"

#include <cstdlib>
#include <smpi/smpi.h>
#include <unordered_map>
#include <utility>
#include <xbt/replay.hpp>

namespace {

constexpr double PRECISION = 1e-9; // SimGrid's precision, set in platform.py: SimGrid rounds shorter times up

using Words     = simgrid::xbt::ReplayAction;
using Operation = std::function<void(Words&)>;

// A rank has a core. If the ranks of a node do not slow each other, its computing times are known in advance. They are
// summed up in `due` and pass only before an operation that other ranks notice, because a sleep costs the simulator
// nearly as much as a message.
struct Rank {
  std::string name;
  s4u::Host* host;
  double seconds_per_amount;
  double due           = 0.0;
  double busy_until    = 0.0; // with a message that has left already
  double computed      = 0.0;
  double handles_until = 0.0; // messages of one-sided calls, which the rank handles one after another
  bool ended           = false;
  s4u::MutexPtr computing = s4u::Mutex::create(); // locked while the rank computes, if other ranks may ask for an answer
};

std::vector<Rank> ranks;
std::string folder;
double eager_limit;
bool by_messages; // whether messages carry one-sided calls
double one_sided_work; // additional seconds of the receiver of such a message
double flush_work; // seconds to complete one-sided calls at a target if no message carries them
double window_work; // seconds for a window, without the barriers that create and free it
std::vector<std::pair<double, double>> after_work; // computing time, and delay of the communication that follows
const Messages* messages;
double corun; // slowdown of a computing rank per other rank that computes on its node

Rank& this_rank()
{
  return ranks.at(s4u::this_actor::get_pid() - 1); // SMPI's operations assume these numbers
}

// Seconds for which a rank is still busy with the message that it sent last.
double take_busy(Rank& rank)
{
  return std::max(0.0, std::exchange(rank.busy_until, 0.0) - s4u::Engine::get_clock());
}

// Seconds that a rank has to compute or is busy before its next operation; resets them.
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

// Whether other ranks notice an operation, so that `due` must pass before it. Nobody notices the posting of a receive
// unless the sender waits for it. The time that is due before an isend passes together with the cost of the isend,
// unless ranks slow each other.
bool others_notice(const Words& words)
{
  const std::string& name = words[1];
  return name != "compute" && (name != "isend" || corun > 0.0) &&
         !(name == "irecv" && words.size() == 5 && std::stod(words[4]) <= eager_limit);
}

// Delay of the communication after some computing time: linear between the points, from 0 at 0, constant after the
// last.
double delay_after(double work)
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
  rank.due += seconds + delay_after(seconds);
  rank.computed += seconds;
}

// One-sided operation: a transfer in which the target does nothing. FETCHES: a request precedes the data; if messages
// carry one-sided calls, the target sends the data and the rank receives it. Access to the own memory is no transfer,
// so a serial run is the same on every interconnect.
template <bool FETCHES> void transfer(Words& words)
{
  if (words.at(0) == words.at(2))
    return;
  Rank& target = ranks.at(std::stoi(words.at(2)));
  auto* here   = s4u::this_actor::get_host();
  double size = std::stod(words.at(3)), bytes = size + ENVELOPE_BYTES;
  if (FETCHES)
    s4u::Comm::sendto(here, target.host, ENVELOPE_BYTES);
  s4u::Comm::sendto(FETCHES ? target.host : here, FETCHES ? here : target.host, bytes);
  if (!FETCHES || !by_messages)
    return;
  auto cost      = [&](Part part) { return messages->seconds(size, target.host, here, part); };
  double sending = cost(&Knot::send) + cost(&Knot::after);
  target.due += sending;
  s4u::this_actor::sleep_for(sending + cost(&Knot::receive) + one_sided_work);
}

// Wait until a rank has handled a message, after the earlier messages.
void handle(Rank& rank, double seconds, double after = 0)
{
  double done        = std::max(s4u::Engine::get_clock(), rank.handles_until) + seconds;
  rank.handles_until = done + after;
  s4u::this_actor::sleep_until(done);
}

// Completes one-sided calls at the targets. If messages carry one-sided calls, the rank asks each target, which answers
// when it does not compute. The answer delays the target later, unless the target waits for an answer itself.
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
    double sending = cost(&Knot::send), receiving = cost(&Knot::receive) + one_sided_work, after = cost(&Knot::after);
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

// Returns an operation of this program, or else of SMPI.
const Operation& operation(const std::string& name)
{
  static std::unordered_map<std::string, Operation> operations = {
      {"compute", compute}, {"mark", mark},           {"put", transfer<false>}, {"accumulate", transfer<false>},
      {"get", transfer<true>}, {"fetch", transfer<true>}, {"flush", flush},
      {"window", window}};
  auto entry = operations.find(name);
  if (entry == operations.end()) {
    try {
      entry = operations.emplace(name, xbt_replay_action_get(name.c_str())).first;
    } catch (const std::out_of_range&) {
      throw std::invalid_argument("operation " + name + " is unknown");
    }
  }
  return entry->second;
}

// Splits a line into words, reusing the memory of the earlier words.
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

// Replays a trace line by line. SMPI's own reader would take a sixth of the time of a replay.
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
  words = {rank.name, "waitall"}; // for requests that the trace did not wait for
  let_due_pass(rank);
  operation("waitall")(words);
}

void replay(Rank& rank)
{
  smpi_replay_init("replay", std::stoi(rank.name), 0);
  try {
    replay_lines(rank);
  } catch (const std::logic_error& error) { // a missing word, or a word that is not a number
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
  if (const char* percent = engine.get_netzone_root()->get_property("corun_percent"))
    corun = std::stod(percent) / 100;
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
  one_sided_work    = std::stod(engine.get_netzone_root()->get_property("one_sided_us")) * 1e-6;
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
  bool prints = engine.get_netzone_root()->get_property("print_messages");
  auto send = [cost, prints](size_t size, s4u::Host* from, s4u::Host* to) {
    if (prints)
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
    mpich::replace_algorithms(per_node);
  else
    openmpi::replace_algorithms();
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
  std::printf("memory %ld\n", peak_memory_kB());
  std::printf("end %.9f\n", s4u::Engine::get_clock());
}
