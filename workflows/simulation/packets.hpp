// A packet-switched network: wormhole routing over virtual channels with finite buffers and credits.
//
// A packet moves in groups of flits; a group is half of a channel's buffer. A link sends one group at a time, taking
// its channels in turn. It sends a group as soon as the head of the group is there and the buffer at the end of the
// link has room for the whole group. The head of a packet takes a channel of each link on its route; it waits at a gate
// while no channel is free. A channel becomes free when the tail of the packet has left its buffer. In an acknowledged
// network, it becomes free when the acknowledgement of the target is back and the end of the packet has passed. Credits
// return immediately. Neither credits nor acknowledgements occupy links.

#pragma once

#include "topology.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <utility>

using Time = std::int64_t; // picoseconds: sums are exact

struct Settings {
  int channels;
  double link_ps_per_byte, node_ps_per_byte; // of both directions of a node together; 0 if they are independent
  int payload_bytes, overhead_bytes, group_bytes;
  std::int64_t turn_bytes; // data that a node sends of a message before its next message has a turn
  Time switch_ps, age_step; // step in which ages are compared, at least 1; 0 if ages do not count
  bool acknowledged, keeps_channel;
};

class Network {
public:
  using Arrived = std::function<void(int message)>;

private:
  enum Kind : std::uint32_t { SERVE, SENT, HEAD, DELIVER, CLOSE, CALL };
  static constexpr int GROUPS = 2; // groups in a buffer

  struct Event {
    Time at;
    std::uint64_t order;
    Kind kind;
    int subject; // link, packet or number, by kind
    bool operator<(const Event& other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  struct Hop {
    int channel, sent, left; // groups that the link started to send, and that have left the buffer at its end
    Time ready[GROUPS];      // arrival of the head of a group at the end of the link
  };
  struct Packet {
    int message, source, destination, payload, groups;
    Time start, handled; // when its node sends it, and when its target has handled it
    int closed;
    std::vector<Hop> hops;
  };
  struct Channel {
    int packet = -1, hop = 0; // packet that holds the channel, and the hop of the packet
  };
  struct Wire {
    Time busy_until = 0;
    int packet = -1, hop = 0; // packet that it sends, -1 for none
    int turn = 0, taken = 0;  // channel to serve next; number of channels that packets hold
  };
  struct Gate {
    std::vector<int> channels, waiting;
  };
  struct Outgoing {
    int message, destination;
    std::int64_t bytes, turn; // bytes left to send, and left in this turn
  };

  const std::unique_ptr<Topology> topology;
  const Settings settings;
  std::vector<Wire> wires;
  std::vector<Channel> channels;
  std::vector<Gate> gates;
  std::vector<Packet> packets;
  std::vector<int> unused;
  std::vector<std::deque<Outgoing>> outgoing;
  std::vector<Time> node_free;
  std::vector<std::int64_t> bytes_left; // of each message
  std::priority_queue<Event> events;
  std::uint64_t order = 0;
  std::minstd_rand draws{1};
  Arrived arrived, call;

  const Link& link_of(int channel) const { return topology->links[channel / settings.channels]; }
  Time delay(int link) const { return topology->links[link].node < 0 ? settings.switch_ps : 0; }
  void schedule(Time at, Kind kind, int subject) { events.push({at, order++, kind, subject}); }

  Time duration(const Packet& packet, int group) const
  {
    int bytes = packet.payload + settings.overhead_bytes - group * settings.group_bytes;
    return std::llround(std::min(bytes, settings.group_bytes) * settings.link_ps_per_byte);
  }

  // Reserves the engine of a node, which sends and receives one packet at a time. Returns when it begins.
  Time node_begins(int node, int payload)
  {
    Time begin      = std::max(now, node_free[node]);
    node_free[node] = begin + std::llround(payload * settings.node_ps_per_byte);
    return begin;
  }

  bool may_take(const Packet& packet, int channel) const
  {
    return !settings.keeps_channel || packet.hops.empty() ||
           (channel - packet.hops.front().channel) % settings.channels == 0;
  }

  // A free channel of a gate for a packet, on a link with the most free channels; ties are broken at random. -1 if none
  // is free.
  int free_channel(const Gate& gate, const Packet& packet)
  {
    int best = -1, taken = settings.channels + 1, ties = 0;
    for (int channel : gate.channels) {
      int load = wires[channel / settings.channels].taken;
      if (channels[channel].packet >= 0 || load > taken || !may_take(packet, channel))
        continue;
      ties = load < taken ? 1 : ties + 1;
      if (ties == 1 || draws() % ties == 0)
        best = channel;
      taken = load;
    }
    return best;
  }

  void inject(int node)
  {
    auto& messages   = outgoing[node];
    const Gate& gate = gates[topology->links[topology->entry(node)].gates[0]];
    for (int channel; !messages.empty() && (channel = free_channel(gate, {})) >= 0;) {
      Outgoing& first = messages.front();
      int payload     = std::min<std::int64_t>(first.bytes, settings.payload_bytes);
      first.bytes -= payload;
      first.turn -= payload;
      Outgoing message = first;
      if (message.bytes <= 0 || message.turn <= 0)
        messages.pop_front();
      if (message.bytes > 0 && message.turn <= 0) {
        message.turn = settings.turn_bytes;
        messages.push_back(message);
      }
      if (unused.empty()) {
        unused.push_back(packets.size());
        packets.emplace_back();
      }
      int index = unused.back();
      unused.pop_back();
      Packet& packet     = packets[index];
      packet.message     = message.message;
      packet.source      = node;
      packet.destination = message.destination;
      packet.payload     = payload;
      packet.groups      = std::max(1, (payload + settings.overhead_bytes - 1) / settings.group_bytes + 1);
      packet.start       = node_begins(node, payload);
      packet.closed      = 0;
      packet.hops.clear();
      take(index, channel);
    }
  }

  void take(int index, int channel)
  {
    Packet& packet    = packets[index];
    channels[channel] = {index, int(packet.hops.size())};
    packet.hops.push_back({channel, 0, 0, {}});
    wires[channel / settings.channels].taken++;
    serve(channel / settings.channels);
  }

  void release(int channel)
  {
    channels[channel].packet = -1;
    wires[channel / settings.channels].taken--;
    if (int node = link_of(channel).from; node >= 0) {
      inject(node);
      return;
    }
    auto& waiting = gates[gate_of(channel)].waiting;
    auto next     = waiting.end();
    for (auto candidate = waiting.begin(); candidate != waiting.end(); ++candidate)
      if (may_take(packets[*candidate], channel) && (next == waiting.end() || age(*candidate) > age(*next)))
        next = candidate;
    if (next == waiting.end())
      return;
    int index = *next;
    waiting.erase(next);
    take(index, channel);
  }

  Time age(int index) const { return settings.age_step ? (now - packets[index].start) / settings.age_step : 0; }

  int gate_of(int channel) const { return link_of(channel).gates[channel % settings.channels % 2]; }

  // The head of a packet has reached the end of its last hop.
  void head(int index)
  {
    Packet& packet = packets[index];
    int link       = packet.hops.back().channel / settings.channels;
    if (topology->links[link].node >= 0) {
      packet.handled = node_begins(packet.destination, packet.payload) +
                       std::llround(packet.payload * settings.node_ps_per_byte);
      return;
    }
    Gate& gate = gates[topology->gate(link, packet.source, packet.destination)];
    if (int channel = free_channel(gate, packets[index]); channel >= 0)
      take(index, channel);
    else
      gate.waiting.push_back(index);
  }

  // Send the next group over a link, if a group is ready.
  void serve(int link)
  {
    Wire& wire = wires[link];
    if (wire.packet >= 0)
      return;
    Time soon = 0;
    for (int step = 0; step < settings.channels; step++) {
      int turn               = (wire.turn + step) % settings.channels;
      const Channel& channel = channels[link * settings.channels + turn];
      if (channel.packet < 0)
        continue;
      Packet& packet = packets[channel.packet];
      Hop& hop       = packet.hops[channel.hop];
      int group      = hop.sent;
      if (group == packet.groups || group - hop.left == GROUPS)
        continue;
      if (channel.hop && packet.hops[channel.hop - 1].sent == group)
        continue;
      Time ready = channel.hop ? packet.hops[channel.hop - 1].ready[group % GROUPS] : packet.start;
      if (ready > now) {
        soon = soon ? std::min(soon, ready) : ready;
        continue;
      }
      Time there              = now + delay(link);
      hop.ready[group % GROUPS] = there;
      hop.sent++;
      wire.busy_until = now + duration(packet, group);
      wire.packet     = channel.packet;
      wire.hop        = channel.hop;
      wire.turn       = (turn + 1) % settings.channels;
      schedule(wire.busy_until, SENT, link);
      if (group == 0)
        schedule(there, HEAD, channel.packet);
      else if (size_t(channel.hop) + 1 < packet.hops.size()) {
        int next = packet.hops[channel.hop + 1].channel / settings.channels;
        if (wires[next].packet < 0 || wires[next].busy_until < there)
          schedule(there, SERVE, next);
      }
      return;
    }
    if (soon)
      schedule(soon, SERVE, link);
  }

  // A link has sent a group, which has thereby left the buffer before the link.
  void sent(int link)
  {
    Wire& wire     = wires[link];
    int index      = std::exchange(wire.packet, -1);
    int hop        = wire.hop;
    Packet& packet = packets[index];
    bool tail      = packet.hops[hop].sent == packet.groups;
    bool last      = topology->links[link].node >= 0;
    if (last)
      packet.hops[hop].left++;
    if (hop) {
      int before = packet.hops[hop - 1].channel;
      packet.hops[hop - 1].left++;
      serve(before / settings.channels);
      if (tail && !settings.acknowledged)
        release(before);
    }
    if (tail && last)
      schedule(std::max(now, packets[index].handled), DELIVER, index);
    serve(link);
  }

  void deliver(int index)
  {
    Packet& packet = packets[index];
    if (settings.acknowledged) {
      Time back = now;
      for (const Hop& hop : packet.hops)
        back += delay(hop.channel / settings.channels);
      schedule(back, CLOSE, index);
    } else {
      release(packet.hops.back().channel);
      unused.push_back(index);
    }
    int message = packets[index].message;
    if ((bytes_left[message] -= packets[index].payload) == 0)
      arrived(message);
  }

  void close(int index)
  {
    int channel = packets[index].hops[packets[index].closed++].channel;
    release(channel);
    Packet& packet = packets[index];
    if (size_t(packet.closed) == packet.hops.size())
      unused.push_back(index);
    else
      schedule(now + delay(channel / settings.channels), CLOSE, index);
  }

public:
  Time now = 0;

  Network(std::unique_ptr<Topology> switches, const Settings& chosen, int messages, Arrived on_arrival, Arrived on_call)
      : topology(std::move(switches)), settings(chosen), wires(topology->links.size()),
        channels(wires.size() * settings.channels), gates(topology->gates), outgoing(topology->nodes),
        node_free(topology->nodes, 0), bytes_left(messages, 0), arrived(std::move(on_arrival)), call(std::move(on_call))
  {
    for (size_t channel = 0; channel < channels.size(); channel++)
      gates[gate_of(channel)].channels.push_back(channel);
  }

  int nodes() const { return topology->nodes; }

  // Send a message of 1 byte or more between two nodes. `on_arrival` receives its number when all bytes have arrived.
  void send(int source, int destination, std::int64_t bytes, int message)
  {
    bytes_left[message] = bytes;
    outgoing[source].push_back({message, destination, bytes, settings.turn_bytes});
    inject(source);
  }

  // Pass a number to `on_call` at a time.
  void call_at(Time at, int number) { schedule(at, CALL, number); }

  void run()
  {
    while (!events.empty()) {
      Event event = events.top();
      events.pop();
      now = event.at;
      switch (event.kind) {
        case SERVE: serve(event.subject); break;
        case SENT: sent(event.subject); break;
        case HEAD: head(event.subject); break;
        case DELIVER: deliver(event.subject); break;
        case CLOSE: close(event.subject); break;
        case CALL: call(event.subject); break;
      }
    }
  }
};
