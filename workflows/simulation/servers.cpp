// Carries out tasks on a distributed array with data servers, as workflows/benchmarks/data_servers.py does them, on a
// platform that workflows/simulation/platform.py described.
//
//   servers PLATFORM.xml RANKS TASKS BLOCKS BLOCK_BYTES REQUEST_BYTES WAY TURN CHANGE NAP LOOK [SimGrid's]
//
// RANKS has a rank a line, NODE CORE COMPUTES(0 or 1) FIRST_TURN(of the core, in seconds), TASKS the two blocks of a
// task and what it computes, in seconds, a line. WAY says how ranks wait:
// polling (they keep their core for a turn of TURN seconds), yielding (they give it to any other that could run),
// sleeping (processes yield; servers leave their core for NAP and then keep it for LOOK). CHANGE is what a rank needs
// that has its core after another. Prints the time of each operation on another rank (operation NAME SECONDS), that of
// the tasks (tasks SECONDS), the share of a core that a rank kept busy, while there were tasks or, a server, all the
// time (busy COMPUTES SHARE), (memory KIB), and at the end (end SECONDS).

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
  bool arrived = false, seen = false; // seen: its receiver was in MPI since it arrived
};
using Carried = std::shared_ptr<Message>;
using Condition = std::function<bool()>;

struct Rank : Occupant {
  s4u::Host* host;
  bool computes;
  std::list<Carried> arrived, announced = {}, cleared = {}; // cleared: its own, which the receiver lets come
  Rank* expected    = nullptr; // whose update it receives
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
double block_bytes, request_bytes, nap, look_seconds;
std::string way;
const Messages* costs;

void carry(const Carried& message)
{
  s4u::Actor::create("message", message->from->host, [message] {
    s4u::Comm::sendto(message->from->host, message->to->host, message->bytes + ENVELOPE_BYTES);
    message->arrived = true;
    message->to->arrived.push_back(message);
    message->to->event->release();
    if (message->bytes > costs->eager_limit) // its sender waits
      message->from->event->release();
  });
}

// Wait in MPI until something is so. Meanwhile, whenever the rank has its core, the large messages that it has
// a receive for are let come: from its own node it copies them itself, while the sender on another needs its core
// again to send them. A probe, between two naps, looks first and takes afterwards what has arrived, for the next one.
void wait(Rank& own, const Condition& over, bool naps = false)
{
  for (;;) {
    own.have();
    std::list<Carried> coming;
    for (auto at = own.announced.begin(); at != own.announced.end();) {
      auto next = std::next(at);
      if ((*at)->tag == Tag::reply || (*at)->from == own.expected)
        coming.splice(coming.end(), own.announced, at);
      at = next;
    }
    coming.splice(coming.end(), own.cleared);
    for (const Carried& message : coming)
      if (message->from == &own || message->from->host == own.host) {
        carry(message);
      } else {
        message->from->cleared.push_back(message);
        message->from->event->release();
      }
    if (own.core->running != &own)
      continue; // another woke meanwhile
    if (over())
      return;
    own.progress();
    if (naps) {
      own.sleep(nap);
      own.spend(look_seconds);
    } else if (over()) {
      return;
    } else if (way == "polling") {
      own.idle_until(own.core->turn_ends);
    } else {
      own.look();
    }
  }
}

Carried send(Rank& own, Rank& to, Tag tag, double bytes, const std::string& operation)
{
  auto message = std::make_shared<Message>(Message{&own, &to, tag, bytes, operation});
  own.spend(costs->seconds(bytes, own.host, to.host, &Knot::send));
  if (bytes <= costs->eager_limit) {
    carry(message);
  } else {
    to.announced.push_back(message);
    to.event->release();
  }
  own.spend(costs->seconds(bytes, own.host, to.host, &Knot::after));
  return message;
}

bool sent(const Carried& message) { return message->bytes <= costs->eager_limit || message->arrived; }

Carried receive(Rank& own, Tag tag, const Rank* from = nullptr)
{
  auto found = own.find(tag, from);
  Carried message = *found;
  own.arrived.erase(found);
  own.spend(costs->receiving(message->bytes, message->from->host, own.host));
  return message;
}

void answer(Rank& own)
{
  Carried request = receive(own, Tag::request);
  Rank& client    = *request->from;
  bool get        = request->operation == "get";
  if (!get) {
    own.expected = &client;
    wait(own, [&own, &client] { return own.find(Tag::update, &client) != own.arrived.end(); });
    own.expected = nullptr;
    receive(own, Tag::update, &client);
  }
  Carried reply = send(own, client, Tag::reply, get ? block_bytes : 0, request->operation);
  wait(own, [reply] { return sent(reply); });
}

// Wait as a process that computes: where there are no servers, it answers others meanwhile.
void await(Rank& own, const Condition& over)
{
  bool answers = holding == computing;
  for (;;) {
    wait(own, [&] { return over() || (answers && own.has(Tag::request)); });
    if (over())
      return;
    answer(own);
  }
}

void operate(Rank& own, const std::string& operation, size_t block)
{
  Rank& holder = *holding[block % holding.size()];
  if (&holder == &own)
    return;
  double start = Rank::now();
  send(own, holder, Tag::request, request_bytes, operation);
  if (operation != "get") {
    Carried update = send(own, holder, Tag::update, block_bytes, operation);
    await(own, [update] { return sent(update); });
  }
  await(own, [&own] { return own.has(Tag::reply); });
  receive(own, Tag::reply);
  std::printf("operation %s %.9f\n", operation.c_str(), Rank::now() - start);
}

// Wait for all that compute.
void meet(Rank& own, size_t times)
{
  if (++entered == times * computing.size())
    for (Rank* rank : computing)
      rank->event->release();
  await(own, [times] { return entered >= times * computing.size(); });
}

void compute(Rank* own, size_t index)
{
  for (size_t block = index; block < blocks; block += computing.size())
    operate(*own, "put", block);
  meet(*own, 1);
  own->settle();
  double start = Rank::now(), busy = own->busy;
  for (size_t number = index; number < tasks.size(); number += computing.size()) {
    const Task& task = tasks[number];
    operate(*own, "get", task.first);
    operate(*own, "get", task.second);
    own->spend(task.seconds);
    operate(*own, "accumulate", task.first);
  }
  meet(*own, 2);
  own->settle();
  double seconds  = Rank::now() - start;
  own->busy_share = (own->busy - busy) / seconds;
  if (index == 0)
    std::printf("tasks %.9f\n", seconds);
  for (size_t block = index; block < blocks; block += computing.size())
    operate(*own, "get", block);
  meet(*own, 3);
  own->leave();
}

void serve(Rank* own)
{
  for (;;) {
    wait(*own, [own] { return own->has(Tag::request); }, way == "sleeping");
    answer(*own);
  }
}

} // namespace

int main(int argc, char** argv)
{
  smpi_init_options();
  s4u::Engine engine(&argc, argv);
  if (argc != 12) {
    std::fprintf(stderr, "usage: servers PLATFORM RANKS TASKS BLOCKS BLOCK_BYTES REQUEST_BYTES WAY TURN CHANGE "
                         " NAP LOOK\n");
    return 2;
  }
  blocks           = std::stoul(argv[4]);
  block_bytes      = std::stod(argv[5]);
  request_bytes    = std::stod(argv[6]);
  way              = argv[7];
  Occupant::turn   = std::stod(argv[8]);
  Occupant::change = std::stod(argv[9]);
  nap              = std::stod(argv[10]);
  look_seconds     = std::stod(argv[11]);

  engine.load_platform(argv[1]);
  Messages all(engine.get_netzone_root());
  costs = &all;

  std::ifstream listed(argv[2]), given(argv[3]);
  std::map<std::pair<int, int>, Core> cores;
  int node, core;
  double first_turn;
  for (bool computes; listed >> node >> core >> computes >> first_turn;) {
    cores[{node, core}].first_turn = first_turn;
    ranks.emplace_back(engine.host_by_name("node-" + std::to_string(node)), &cores[{node, core}], computes);
  }
  for (Task task; given >> task.first >> task.second >> task.seconds;)
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
    rank.settle();
    double share = rank.computes ? rank.busy_share : rank.busy / Rank::now();
    std::printf("busy %d %.6f\n", rank.computes, share);
  }
  std::printf("memory %ld\n", most_memory_kB());
  std::printf("end %.9f\n", Rank::now());
}
