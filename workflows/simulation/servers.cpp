// Carries out tasks on a distributed array with data servers, as workflows/benchmarks/data_servers.py does, on a
// platform that workflows/simulation/platform.py wrote.
//
//   servers PLATFORM.xml RANKS TASKS BLOCKS BLOCK_BYTES REQUEST_BYTES WAIT TURN SWITCH NAP POLL [SimGrid options]
//
// RANKS has one line per rank: NODE CORE COMPUTES(0 or 1) FIRST_TURN(seconds, of the core). TASKS has one line per
// task: its two blocks and its computing time in seconds. WAIT is how ranks wait:
//   polling   keep the core for a turn of TURN seconds
//   yielding  give the core to any rank that can run
//   sleeping  processes yield; servers leave their core for NAP seconds and then keep it for POLL seconds
// SWITCH is the time of a context switch in seconds.
//
// Prints, in seconds: each operation on another rank (operation NAME SECONDS) and the time of all tasks (tasks
// SECONDS). Then, for each rank, the share of its core that it kept busy, for processes during the tasks, for servers
// during the whole run (busy COMPUTES SHARE); the peak memory (memory KIB) and the simulated time (end SECONDS).

#include "cores.hpp"

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <smpi/smpi.h>

namespace {

enum class Tag { request, update, reply };

struct Rank;

struct Message {
  Rank *from, *to;
  Tag tag;
  double bytes;
  std::string operation;
  bool arrived = false, seen = false; // seen: the receiver entered MPI after the arrival
};
using Carried = std::shared_ptr<Message>;
using Condition = std::function<bool()>;

struct Rank : Occupant {
  s4u::Host* host;
  bool computes;
  std::list<Carried> arrived, announced = {}, cleared = {}; // cleared: sent by this rank, and accepted by the receiver
  Rank* expected    = nullptr; // sender of the update that it receives
  double busy_share = 0;

  Rank(s4u::Host* host, Core* core, bool computes) : Occupant(core), host(host), computes(computes) {}

  std::list<Carried>::iterator find(Tag tag, const Rank* from = nullptr)
  {
    return std::find_if(arrived.begin(), arrived.end(), [tag, from](const Carried& message) {
      return message->seen && message->tag == tag && (!from || message->from == from);
    });
  }
  void progress()
  {
    for (const Carried& message : arrived)
      message->seen = true;
  }
  bool has(Tag tag) { return find(tag) != arrived.end(); }
};

struct Task {
  size_t first, second;
  double seconds;
};

std::deque<Rank> ranks;
std::vector<Rank*> computing, holding;
std::vector<Task> tasks;
size_t blocks, entered = 0;
double block_bytes, request_bytes, nap, poll_seconds;
std::string wait_mode;
const Messages* costs;

void carry(const Carried& message)
{
  s4u::Actor::create("message", message->from->host, [message] {
    s4u::Comm::sendto(message->from->host, message->to->host, message->bytes + ENVELOPE_BYTES);
    message->arrived = true;
    message->to->arrived.push_back(message);
    message->to->event->release();
    if (message->bytes > costs->eager_limit) // the sender waits
      message->from->event->release();
  });
}

// Wait in MPI until a condition holds. Whenever the rank has its core, it accepts the large messages that it has a
// receive for. It copies messages from the same node itself; a sender on another node needs its core again to send
// them. A probe between two naps tests the condition before it takes up new messages, so it sees these only after the
// next nap.
void wait(Rank& self, const Condition& over, bool naps = false)
{
  for (;;) {
    self.have();
    std::list<Carried> accepted;
    for (auto at = self.announced.begin(); at != self.announced.end();) {
      auto next = std::next(at);
      if ((*at)->tag == Tag::reply || (*at)->from == self.expected)
        accepted.splice(accepted.end(), self.announced, at);
      at = next;
    }
    accepted.splice(accepted.end(), self.cleared);
    for (const Carried& message : accepted)
      if (message->from == &self || message->from->host == self.host) {
        carry(message);
      } else {
        message->from->cleared.push_back(message);
        message->from->event->release();
      }
    if (self.core->running != &self)
      continue; // another rank woke meanwhile
    if (over())
      return;
    self.progress();
    if (naps) {
      self.sleep(nap);
      self.spend(poll_seconds);
    } else if (over()) {
      return;
    } else if (wait_mode == "polling") {
      self.idle_until(self.core->turn_ends);
    } else {
      self.poll();
    }
  }
}

Carried send(Rank& self, Rank& to, Tag tag, double bytes, const std::string& operation)
{
  auto message = std::make_shared<Message>(Message{&self, &to, tag, bytes, operation});
  self.spend(costs->seconds(bytes, self.host, to.host, &Knot::send));
  if (bytes <= costs->eager_limit) {
    carry(message);
  } else {
    to.announced.push_back(message);
    to.event->release();
  }
  self.spend(costs->seconds(bytes, self.host, to.host, &Knot::after));
  return message;
}

bool sent(const Carried& message) { return message->bytes <= costs->eager_limit || message->arrived; }

Carried receive(Rank& self, Tag tag, const Rank* from = nullptr)
{
  auto place      = self.find(tag, from);
  Carried message = *place;
  self.arrived.erase(place);
  self.spend(costs->receiving(message->bytes, message->from->host, self.host));
  return message;
}

void answer(Rank& self)
{
  Carried request = receive(self, Tag::request);
  Rank& client    = *request->from;
  bool get        = request->operation == "get";
  if (!get) {
    self.expected = &client;
    wait(self, [&self, &client] { return self.find(Tag::update, &client) != self.arrived.end(); });
    self.expected = nullptr;
    receive(self, Tag::update, &client);
  }
  Carried reply = send(self, client, Tag::reply, get ? block_bytes : 0, request->operation);
  wait(self, [reply] { return sent(reply); });
}

// Wait as a computing process. Without data servers, it answers requests meanwhile.
void await(Rank& self, const Condition& over)
{
  bool answers = holding == computing;
  for (;;) {
    wait(self, [&] { return over() || (answers && self.has(Tag::request)); });
    if (over())
      return;
    answer(self);
  }
}

void operate(Rank& self, const std::string& operation, size_t block)
{
  Rank& holder = *holding[block % holding.size()];
  if (&holder == &self)
    return;
  double start = Rank::now();
  send(self, holder, Tag::request, request_bytes, operation);
  if (operation != "get") {
    Carried update = send(self, holder, Tag::update, block_bytes, operation);
    await(self, [update] { return sent(update); });
  }
  await(self, [&self] { return self.has(Tag::reply); });
  receive(self, Tag::reply);
  std::printf("operation %s %.9f\n", operation.c_str(), Rank::now() - start);
}

// Barrier of the computing processes.
void meet(Rank& self, size_t times)
{
  if (++entered == times * computing.size())
    for (Rank* rank : computing)
      rank->event->release();
  await(self, [times] { return entered >= times * computing.size(); });
}

void compute(Rank* self, size_t index)
{
  for (size_t block = index; block < blocks; block += computing.size())
    operate(*self, "put", block);
  meet(*self, 1);
  self->account();
  double start = Rank::now(), busy = self->busy;
  for (size_t number = index; number < tasks.size(); number += computing.size()) {
    const Task& task = tasks[number];
    operate(*self, "get", task.first);
    operate(*self, "get", task.second);
    self->spend(task.seconds);
    operate(*self, "accumulate", task.first);
  }
  meet(*self, 2);
  self->account();
  double seconds  = Rank::now() - start;
  self->busy_share = (self->busy - busy) / seconds;
  if (index == 0)
    std::printf("tasks %.9f\n", seconds);
  for (size_t block = index; block < blocks; block += computing.size())
    operate(*self, "get", block);
  meet(*self, 3);
  self->leave();
}

void serve(Rank* self)
{
  for (;;) {
    wait(*self, [self] { return self->has(Tag::request); }, wait_mode == "sleeping");
    answer(*self);
  }
}

} // namespace

int main(int argc, char** argv)
{
  smpi_init_options();
  s4u::Engine engine(&argc, argv);
  if (argc != 12) {
    std::fprintf(stderr, "usage: servers PLATFORM RANKS TASKS BLOCKS BLOCK_BYTES REQUEST_BYTES WAIT TURN SWITCH "
                         "NAP POLL\n");
    return 2;
  }
  blocks           = std::stoul(argv[4]);
  block_bytes      = std::stod(argv[5]);
  request_bytes    = std::stod(argv[6]);
  wait_mode              = argv[7];
  Occupant::turn   = std::stod(argv[8]);
  Occupant::switch_seconds = std::stod(argv[9]);
  nap              = std::stod(argv[10]);
  poll_seconds     = std::stod(argv[11]);

  engine.load_platform(argv[1]);
  Messages messages(engine.get_netzone_root());
  costs = &messages;

  std::ifstream rank_lines(argv[2]), task_lines(argv[3]);
  std::map<std::pair<int, int>, Core> cores;
  int node, core;
  double first_turn;
  for (bool computes; rank_lines >> node >> core >> computes >> first_turn;) {
    cores[{node, core}].first_turn = first_turn;
    ranks.emplace_back(engine.host_by_name("node-" + std::to_string(node)), &cores[{node, core}], computes);
  }
  for (Task task; task_lines >> task.first >> task.second >> task.seconds;)
    tasks.push_back(task);
  for (Rank& rank : ranks)
    (rank.computes ? computing : holding).push_back(&rank);
  for (Rank* rank : holding)
    s4u::Actor::create("server", rank->host, serve, rank)->daemonize();
  if (holding.empty())
    holding = computing;
  for (size_t index = 0; index < computing.size(); index++)
    s4u::Actor::create("process", computing[index]->host, compute, computing[index], index);
  engine.run();

  for (Rank& rank : ranks) {
    rank.account();
    double share = rank.computes ? rank.busy_share : rank.busy / Rank::now();
    std::printf("busy %d %.6f\n", rank.computes, share);
  }
  std::printf("memory %ld\n", peak_memory_kB());
  std::printf("end %.9f\n", Rank::now());
}
