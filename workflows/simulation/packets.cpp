// Carries out a schedule of messages packet by packet, on a network that workflows/simulation/packets.py described.
//
//   packets NETWORK SCHEDULE PROCESSES PROCESSES_PER_NODE SECONDS WINDOW BUFFERS HEAD_BYTES
//
// Arguments, rules and output are those of traffic.cpp, where messages share links like fluids.

#include "memory.hpp"
#include "packets.hpp"

#include <cmath>
#include <cstdio>
#include <map>

namespace {

struct Message {
  Time due;
  int process, destination;
  std::int64_t bytes;
  bool write;
  size_t step;
  Time arrived;
};

struct Process {
  int node;
  int buffers;
  std::deque<int> waiting; // messages whose data waits for a buffer
  std::vector<int> messages;
  size_t next = 0;
};

struct Transfer {
  int from, to;
  std::int64_t bytes;
  bool buffered;
};

// A file with a key and its value on each line.
class Description {
  std::map<std::string, std::string> values;

public:
  explicit Description(const std::string& file)
  {
    std::ifstream input(file);
    for (std::string key, value; input >> key && std::getline(input >> std::ws, value);)
      values[key] = value;
  }
  const std::string& text(const std::string& key) const { return values.at(key); }
  double number(const std::string& key) const { return std::stod(values.at(key)); }
};

Time picoseconds(double seconds) { return std::llround(seconds * 1e12); }

class Schedule {
  std::vector<Message> messages;
  std::vector<Process> processes;
  const Time end, start_up, memory_latency;
  const double memory_ps_per_byte;
  const std::int64_t eager_limit, head;
  Network network;

  // Transfers of a message in their order. A write sends data and receives a head; a read sends a head and receives
  // data. A head precedes large data, which needs a buffer of its receiver.
  std::vector<Transfer> transfers(const Message& message) const
  {
    int from = message.process, to = message.destination;
    std::vector<Transfer> all;
    if (!message.write) {
      all.push_back({from, to, head, false});
      std::swap(from, to);
    }
    bool large = message.bytes > eager_limit;
    if (large)
      all.push_back({from, to, head, false});
    all.push_back({from, to, message.bytes, large});
    if (message.write)
      all.push_back({to, from, head, false});
    return all;
  }

  void begin(int index)
  {
    Transfer next = transfers(messages[index])[messages[index].step];
    if (next.buffered && processes[next.to].buffers == 0) {
      processes[next.to].waiting.push_back(index);
      return;
    }
    processes[next.to].buffers -= next.buffered;
    bool inside = processes[next.from].node == processes[next.to].node;
    Time takes  = inside ? memory_latency + std::llround(next.bytes * memory_ps_per_byte) : start_up;
    network.call_at(network.now + takes, 2 * index + 1);
  }

  // After its start-up, a message enters the network. Inside a node it has arrived by then.
  void started(int index)
  {
    Transfer next = transfers(messages[index])[messages[index].step];
    int from = processes[next.from].node, to = processes[next.to].node;
    if (from == to)
      finished(index);
    else
      network.send(from, to, next.bytes, index);
  }

  void finished(int index)
  {
    Message& message = messages[index];
    auto all         = transfers(message);
    Transfer done    = all[message.step++];
    if (done.buffered) {
      Process& receiver = processes[done.to];
      receiver.buffers++;
      if (!receiver.waiting.empty()) {
        int next = receiver.waiting.front();
        receiver.waiting.pop_front();
        begin(next);
      }
    }
    if (message.step < all.size()) {
      begin(index);
    } else {
      message.arrived = network.now;
      issue_next(processes[message.process]);
    }
  }

  void issue_next(Process& process)
  {
    if (process.next == process.messages.size())
      return;
    int index = process.messages[process.next++];
    network.call_at(std::max(network.now, messages[index].due), 2 * index);
  }

  // Two calls per message: 2 * index when it is due, 2 * index + 1 after its start-up.
  void called(int call)
  {
    int index = call / 2;
    if (call % 2)
      started(index);
    else if (network.now < end) {
      messages[index].arrived = -1;
      begin(index);
    }
  }

public:
  static constexpr Time NEVER = -2; // arrival of a message that was never issued; -1 while it is under way

  Schedule(const Description& description, std::unique_ptr<Topology> topology, const Settings& settings,
           std::vector<Message> all, int count, int per_node, double seconds, int window, int buffers, int head_bytes)
      : messages(std::move(all)), end(picoseconds(seconds)), start_up(picoseconds(description.number("start_up"))),
        memory_latency(picoseconds(description.number("memory_latency"))),
        memory_ps_per_byte(1e12 / description.number("memory_rate")),
        eager_limit(description.number("eager_limit_bytes")), head(head_bytes),
        network(std::move(topology), settings, messages.size(), [this](int message) { finished(message); },
                [this](int call) { called(call); })
  {
    for (int rank = 0; rank < count; rank++)
      processes.push_back({rank / per_node, buffers, {}, {}});
    for (size_t index = 0; index < messages.size(); index++)
      processes[messages[index].process].messages.push_back(index);
    for (Process& process : processes)
      for (int number = 0; number < window; number++)
        issue_next(process);
  }

  bool carry()
  {
    network.run();
    return std::none_of(messages.begin(), messages.end(), [](const Message& message) { return message.arrived == -1; });
  }

  void print() const
  {
    for (size_t index = 0; index < messages.size(); index++)
      if (messages[index].arrived >= 0)
        std::printf("arrived %zu %.12f\n", index, messages[index].arrived * 1e-12);
    std::printf("memory %ld\n", peak_memory_kB());
    std::printf("end %.12f\n", network.now * 1e-12);
  }
};

} // namespace

int main(int argc, char** argv)
{
  if (argc < 9) {
    std::fprintf(stderr, "usage: packets NETWORK SCHEDULE PROCESSES PER_NODE SECONDS WINDOW BUFFERS HEAD_BYTES\n");
    return 2;
  }
  int count = std::stoi(argv[3]), per_node = std::stoi(argv[4]);
  std::vector<Message> messages;
  std::ifstream lines(argv[2]);
  double due;
  for (Message next{}; lines >> due >> next.process >> next.destination >> next.bytes >> next.write;) {
    if (std::max(next.process, next.destination) >= count) {
      std::fprintf(stderr, "packets: a message from %d to %d, of %d processes\n", next.process, next.destination, count);
      return 2;
    }
    next.due     = picoseconds(due);
    next.arrived = Schedule::NEVER;
    messages.push_back(next);
  }
  Description description(argv[1]);
  double node_rate = description.number("node_rate");
  Settings settings{int(description.number("channels")),
                    1e12 / description.number("link_rate"),
                    node_rate > 0 ? 1e12 / node_rate : 0.0,
                    int(description.number("payload_bytes")),
                    int(description.number("overhead_bytes")),
                    int(description.number("buffer_bytes")) / 2,
                    std::int64_t(description.number("turn_bytes")),
                    picoseconds(description.number("switch")),
                    picoseconds(description.number("age_step")),
                    description.number("acknowledged") > 0,
                    description.number("keeps_channel") > 0};
  Schedule schedule(description, read_topology(description.text("topology")), settings, std::move(messages), count, per_node,
                    std::stod(argv[5]), std::stoi(argv[6]), std::stoi(argv[7]), std::stoi(argv[8]));
  if (!schedule.carry()) {
    std::fprintf(stderr, "packets: deadlock\n");
    return 1;
  }
  schedule.print();
}
