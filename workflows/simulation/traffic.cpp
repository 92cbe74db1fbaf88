// Carries out a schedule of messages on a platform that workflows/simulation/platform.py described.
//
//   traffic PLATFORM.xml SCHEDULE PROCESSES PROCESSES_PER_NODE SECONDS WINDOW BUFFERS HEAD_BYTES [SimGrid options]
//
// SCHEDULE has a message a line, ascending in time: SECONDS PROCESS DESTINATION BYTES WRITE(0 or 1). A process has
// WINDOW messages under way at most; the others wait, and none is issued after SECONDS. Data above
// the eager limit needs one of the BUFFERS of its receiver. Prints for each message, in their order, when its process knew that it had
// arrived (arrived PLACE SECONDS), nothing for one that was never issued; then (memory KIB), and at the end (end SECONDS).

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
  s4u::MutexPtr core; // one message at a time keeps it busy
  s4u::SemaphorePtr buffers;
  std::vector<Message*> messages;
  size_t next = 0;
};

std::vector<Process> processes;
double seconds, head_bytes;
const Messages* costs;

void busy(Process& whose, double for_seconds)
{
  if (for_seconds <= 0)
    return;
  whose.core->lock();
  s4u::this_actor::sleep_for(for_seconds);
  whose.core->unlock();
}

void transfer(Process& from, Process& to, double bytes)
{
  busy(from, costs->seconds(bytes, from.host, to.host, &Knot::send));
  s4u::Comm::sendto(from.host, to.host, bytes + ENVELOPE_BYTES);
  busy(to, costs->receiving(bytes, from.host, to.host));
  busy(from, costs->seconds(bytes, from.host, to.host, &Knot::after));
}

// The head and the data. Small data is sent together with its head, larger data when a buffer was given to it.
void announced(Process& from, Process& to, double bytes)
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
    announced(client, target, message.bytes);
    transfer(target, client, head_bytes);
  } else {
    transfer(client, target, head_bytes);
    announced(target, client, message.bytes);
  }
  message.arrived = s4u::Engine::get_clock();
}

// One of the messages that a process may have under way.
void slot(Process* own)
{
  while (own->next < own->messages.size()) {
    Message& message = *own->messages[own->next++];
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
  Messages all(engine.get_netzone_root());
  costs = &all;

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
      s4u::Actor::create("client", process.host, slot, &process);
  engine.run();

  for (size_t index = 0; index < messages.size(); index++)
    if (messages[index].arrived >= 0)
      std::printf("arrived %zu %.9f\n", index, messages[index].arrived);
  std::printf("memory %ld\n", most_memory_kB());
  std::printf("end %.9f\n", s4u::Engine::get_clock());
}
