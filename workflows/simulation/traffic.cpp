// Carries out a schedule of messages on a platform that workflows/simulation/platform.py wrote.
//
//   traffic PLATFORM.xml SCHEDULE PROCESSES PROCESSES_PER_NODE SECONDS WINDOW BUFFERS HEAD_BYTES [SimGrid options]
//
// SCHEDULE has one message per line, in ascending order of time: SECONDS PROCESS DESTINATION BYTES WRITE(0 or 1). A
// process has at most WINDOW messages under way; further messages wait. No message is issued after SECONDS. Data above
// the eager limit needs one of the BUFFERS of its receiver.
//
// Prints for each issued message when its process learned of the arrival (arrived INDEX SECONDS), then the peak memory
// (memory KIB) and the simulated time (end SECONDS).

#include "messages.hpp"

#include <smpi/smpi.h>

namespace {

struct Message {
  double due;
  int process, destination;
  double bytes;
  bool write;
  double arrived;
};

struct Process {
  s4u::Host* host;
  s4u::MutexPtr core; // busy with at most one message at a time
  s4u::SemaphorePtr buffers;
  std::vector<Message*> messages;
  size_t next = 0;
};

std::vector<Process> processes;
double seconds, head_bytes;
const Messages* costs;

void busy(Process& process, double busy_seconds)
{
  if (busy_seconds <= 0)
    return;
  process.core->lock();
  s4u::this_actor::sleep_for(busy_seconds);
  process.core->unlock();
}

void transfer(Process& from, Process& to, double bytes)
{
  busy(from, costs->seconds(bytes, from.host, to.host, &Knot::send));
  s4u::Comm::sendto(from.host, to.host, bytes + ENVELOPE_BYTES);
  busy(to, costs->receiving(bytes, from.host, to.host));
  busy(from, costs->seconds(bytes, from.host, to.host, &Knot::after));
}

// Sends a head and data: small data together with its head, large data when the receiver has a free buffer.
void send_data(Process& from, Process& to, double bytes)
{
  if (bytes <= costs->eager_limit) {
    transfer(from, to, bytes);
    return;
  }
  transfer(from, to, head_bytes);
  to.buffers->acquire();
  transfer(from, to, bytes);
  to.buffers->release();
}

void carry(Message& message)
{
  Process& client = processes[message.process];
  Process& target = processes[message.destination];
  if (message.write) {
    send_data(client, target, message.bytes);
    transfer(target, client, head_bytes);
  } else {
    transfer(client, target, head_bytes);
    send_data(target, client, message.bytes);
  }
  message.arrived = s4u::Engine::get_clock();
}

// Issues messages of a process, one after another. Each process has WINDOW such actors.
void issue(Process* process)
{
  while (process->next < process->messages.size()) {
    Message& message = *process->messages[process->next++];
    s4u::this_actor::sleep_until(message.due);
    if (s4u::Engine::get_clock() >= seconds)
      return;
    carry(message);
  }
}

} // namespace

int main(int argc, char** argv)
{
  smpi_init_options();
  s4u::Engine engine(&argc, argv);
  if (argc != 9) {
    std::fprintf(stderr, "usage: traffic PLATFORM SCHEDULE PROCESSES PER_NODE SECONDS WINDOW BUFFERS HEAD_BYTES\n");
    return 2;
  }
  int count    = std::stoi(argv[3]);
  int per_node = std::stoi(argv[4]);
  int window   = std::stoi(argv[6]);
  seconds      = std::stod(argv[5]);
  head_bytes   = std::stod(argv[8]);

  engine.load_platform(argv[1]);
  Messages message_costs(engine.get_netzone_root());
  costs = &message_costs;

  std::vector<Message> messages;
  std::ifstream schedule(argv[2]);
  for (Message next{}; schedule >> next.due >> next.process >> next.destination >> next.bytes >> next.write;) {
    if (std::max(next.process, next.destination) >= count) {
      std::fprintf(stderr, "traffic: a message from %d to %d, of %d processes\n", next.process, next.destination, count);
      return 2;
    }
    next.arrived = -1;
    messages.push_back(next);
  }
  for (int rank = 0; rank < count; rank++)
    processes.push_back({engine.host_by_name("node-" + std::to_string(rank / per_node)), s4u::Mutex::create(),
                         s4u::Semaphore::create(std::stoi(argv[7])), {}});
  for (Message& message : messages)
    processes.at(message.process).messages.push_back(&message);
  for (Process& process : processes)
    for (int number = 0; number < window; number++)
      s4u::Actor::create("client", process.host, issue, &process);
  engine.run();

  for (size_t index = 0; index < messages.size(); index++)
    if (messages[index].arrived >= 0)
      std::printf("arrived %zu %.9f\n", index, messages[index].arrived);
  std::printf("memory %ld\n", peak_memory_kB());
  std::printf("end %.9f\n", s4u::Engine::get_clock());
}
