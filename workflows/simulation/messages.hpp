// Costs of messages on a platform that workflows/simulation/platform.py wrote.
//
// The costs are properties of the platform's outer zone. "between_nodes" and "inside_node" are knots
// BYTES:WAIT:SEND:RECEIVE:AFTER:MEETS in microseconds, separated by spaces and interpolated linearly:
//   WAIT     time on the wire, in addition to the time that the links need for the bytes
//   SEND     time for which the sender is busy before the message leaves
//   RECEIVE  time for which the receiver is busy
//   AFTER    time for which the sender is busy after the message has left
//   MEETS    additional time on the wire if another message is on its way to the sender's node; that message is
//            delayed as well
// "hop_us" is the additional latency of each switch after the first. A node leaves at least "gap_us" between two
// messages to other nodes, plus "gap_us_per_byte" for each byte of the first message.

#pragma once

#include "memory.hpp"

#include <algorithm>
#include <cstdio>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace s4u = simgrid::s4u;

// SMPI adds an envelope to the bytes on the network, but not to the sizes that its cost callbacks receive.
constexpr double ENVELOPE_BYTES = 16;

// Largest rounding error of SimGrid's clock against a sum of delays, in seconds.
constexpr double ROUNDING = 1e-8;

struct Knot {
  double bytes, wait, send, receive, after, meets;
};

using Part = double Knot::*;

class Curve {
  std::vector<Knot> knots;

public:
  explicit Curve(const std::string& text)
  {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      Knot knot;
      if (std::sscanf(word.c_str(), "%lf:%lf:%lf:%lf:%lf:%lf", &knot.bytes, &knot.wait, &knot.send, &knot.receive,
                      &knot.after, &knot.meets) != 6)
        throw std::invalid_argument("platform: bad knot " + word);
      knots.push_back(knot);
    }
    if (knots.empty())
      throw std::invalid_argument("platform: no knots");
  }

  bool has(Part part) const
  {
    return std::any_of(knots.begin(), knots.end(), [part](const Knot& knot) { return knot.*part > 0; });
  }

  // Seconds that a part of a message takes. Beyond the last knot, the last segment is extrapolated.
  double seconds(double bytes, Part part) const
  {
    if (knots.size() == 1)
      return knots[0].*part * 1e-6;
    auto upper = std::upper_bound(knots.begin() + 1, knots.end() - 1, bytes,
                                  [](double value, const Knot& knot) { return value < knot.bytes; });
    const Knot& low  = *(upper - 1);
    const Knot& high = *upper;
    double share     = (bytes - low.bytes) / (high.bytes - low.bytes);
    return std::max(0.0, low.*part + share * (high.*part - low.*part)) * 1e-6;
  }
};

// Costs of messages between nodes and inside a node. The constructor sets the latencies and bandwidths of SimGrid.
class Messages {
  Curve between, inside;
  double hop, gap, gap_per_byte;
  mutable std::unordered_map<const s4u::Host*, double> free_at; // earliest time of a node's next message

  // The last message to a node: sender, arrival, earliest end of its receive, delay if it meets another message, and
  // arrival with that delay.
  struct Incoming {
    const s4u::Host* from = nullptr;
    double arrival = 0, received = 0, meets = 0, delayed_until = 0;
  };
  bool has_meets;
  mutable std::unordered_map<const s4u::Host*, Incoming> incoming;

  // Seconds that a message waits until its node has sent the earlier messages.
  double queued(const s4u::Host* from, double bytes) const
  {
    double now = s4u::Engine::get_clock(), &free = free_at[from], begins = std::max(now, free);
    free = begins + gap + bytes * gap_per_byte;
    return begins - now;
  }

  static double microseconds(const s4u::NetZone* zone, const char* property)
  {
    const char* value = zone->get_property(property);
    return value ? std::stod(value) * 1e-6 : 0;
  }

  // Factor by which SimGrid multiplies the latencies of the links, so that the message takes its time on the wire.
  double wire(double size, const s4u::Host* from, const s4u::Host* to, const std::vector<s4u::Link*>& links) const
  {
    double nominal = 0, bandwidth = links.front()->get_bandwidth();
    int wires = 0;
    for (const auto* link : links) {
      nominal += link->get_latency();
      wires += link->get_latency() > 0;
      bandwidth = std::min(bandwidth, link->get_bandwidth());
    }
    double bytes  = std::max(0.0, size - ENVELOPE_BYTES);
    double wait   = seconds(bytes, from, to, &Knot::wait);
    if (from != to)
      wait += std::max(0, wires - 2) * hop;
    double latency = std::max(0.0, wait - (size - bytes) / bandwidth);
    if (from != to) {
      latency += gap + gap_per_byte > 0 ? queued(from, bytes) : 0;
      latency += has_meets ? meets(from, to, bytes, latency + size / bandwidth) : 0;
    }
    return latency / nominal;
  }

  // Additional seconds of a message that meets another message. The other message is delayed too: see receiving().
  double meets(const s4u::Host* from, const s4u::Host* to, double bytes, double alone) const
  {
    double now = s4u::Engine::get_clock(), delay = seconds(bytes, from, to, &Knot::meets);
    Incoming& other = incoming[from];
    bool met        = other.received > now + ROUNDING;
    if (met)
      other.delayed_until = other.arrival + other.meets;
    double arrival = now + alone + (met ? delay : 0);
    incoming[to]   = {from, arrival, arrival + seconds(bytes, from, to, &Knot::receive), met ? 0 : delay, 0};
    return met ? delay : 0;
  }

public:
  const double eager_limit; // larger messages wait for their receiver

  explicit Messages(s4u::NetZone* zone)
      : between(zone->get_property("between_nodes"))
      , inside(zone->get_property("inside_node"))
      , hop(std::stod(zone->get_property("hop_us")) * 1e-6)
      , gap(microseconds(zone, "gap_us"))
      , gap_per_byte(microseconds(zone, "gap_us_per_byte"))
      , has_meets(between.has(&Knot::meets))
      , eager_limit(std::stod(zone->get_property("eager_limit_bytes")))
  {
    auto* network = zone->get_network_model();
    network->set_bw_factor_cb([](double, const s4u::Host*, const s4u::Host*, const auto&, const auto&) { return 1.0; });
    network->set_lat_factor_cb([this](double size, const s4u::Host* from, const s4u::Host* to,
                                      const std::vector<s4u::Link*>& links,
                                      const auto&) { return wire(size, from, to, links); });
  }
  Messages(const Messages&) = delete; // SimGrid's callbacks hold the address

  double seconds(double bytes, const s4u::Host* from, const s4u::Host* to, Part part) const
  {
    return (from == to ? inside : between).seconds(bytes, part);
  }

  // Seconds from the arrival of a message to the end of its receive. The receive starts later if the message met
  // another message, or if the receiver is `busy` for some seconds.
  double receiving(double bytes, const s4u::Host* from, const s4u::Host* to, double busy = 0) const
  {
    double delay = busy;
    if (has_meets)
      if (const Incoming& last = incoming[to]; last.from == from)
        delay = std::max(delay, last.delayed_until - s4u::Engine::get_clock());
    return delay + seconds(bytes, from, to, &Knot::receive);
  }
};
