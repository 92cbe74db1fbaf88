// What a message costs on a platform that workflows/simulation/platform.py described.
//
// The costs are in the properties of the platform's outer zone: "between_nodes" and "inside_node" are knots
// BYTES:WAIT:SEND:RECEIVE:AFTER:MEETS, in microseconds, separated by spaces and interpolated linearly. WAIT passes on the
// wire, beside the time that the links need for the bytes; SEND and RECEIVE keep the two ends busy, AFTER the sender when
// the message has left; MEETS passes too where another is on its way to the sender's node, and then it takes its own as
// well. "hop_us" is added for each switch after the first. Between two messages that a node sends to others pass "gap_us",
// and "gap_us_per_byte" for each byte of the first, at least.

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

// SMPI adds its envelope to what goes over the network, not to what its cost callbacks see.
constexpr double ENVELOPE_BYTES = 16;

// Seconds by which SimGrid's clock may differ from a sum of the times that it was given.
constexpr double ROUNDED = 1e-8;

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

  // Seconds that a part of a message takes; constant beyond the last knot but for slopes that go on.
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

// Costs of messages between nodes and inside one; on the wire they are SimGrid's as soon as this is made.
class Messages {
  Curve between, inside;
  double hop, gap, gap_a_byte;
  mutable std::unordered_map<const s4u::Host*, double> free_at; // when a node may send the next message

  // The last message to a node: whose it is, when it is there, and received at the earliest, and what it takes longer if
  // it meets another.
  struct Coming {
    const s4u::Host* from = nullptr;
    double there = 0, received = 0, meets = 0, late_until = 0;
  };
  bool meeting;
  mutable std::unordered_map<const s4u::Host*, Coming> coming;

  // Seconds that a message waits for its node to have sent those before it.
  double queued(const s4u::Host* from, double bytes) const
  {
    double now = s4u::Engine::get_clock(), &free = free_at[from], begins = std::max(now, free);
    free = begins + gap + bytes * gap_a_byte;
    return begins - now;
  }

  static double microseconds(const s4u::NetZone* zone, const char* property)
  {
    const char* told = zone->get_property(property);
    return told ? std::stod(told) * 1e-6 : 0;
  }

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
    double wanted = seconds(bytes, from, to, &Knot::wait);
    if (from != to)
      wanted += std::max(0, wires - 2) * hop;
    double passes = std::max(0.0, wanted - (size - bytes) / bandwidth);
    if (from != to) {
      passes += gap + gap_a_byte > 0 ? queued(from, bytes) : 0;
      passes += meeting ? meets(from, to, bytes, passes + size / bandwidth) : 0;
    }
    return passes / nominal;
  }

  // Seconds that a message takes longer since it meets another; that one is late too, which its receiver waits for.
  double meets(const s4u::Host* from, const s4u::Host* to, double bytes, double alone) const
  {
    double now = s4u::Engine::get_clock(), longer = seconds(bytes, from, to, &Knot::meets);
    Coming& other = coming[from];
    bool met      = other.received > now + ROUNDED;
    if (met)
      other.late_until = other.there + other.meets;
    double there = now + alone + (met ? longer : 0);
    coming[to]   = {from, there, there + seconds(bytes, from, to, &Knot::receive), met ? 0 : longer, 0};
    return met ? longer : 0;
  }

public:
  const double eager_limit; // larger messages wait for their receive

  explicit Messages(s4u::NetZone* zone)
      : between(zone->get_property("between_nodes"))
      , inside(zone->get_property("inside_node"))
      , hop(std::stod(zone->get_property("hop_us")) * 1e-6)
      , gap(microseconds(zone, "gap_us"))
      , gap_a_byte(microseconds(zone, "gap_us_per_byte"))
      , meeting(between.has(&Knot::meets))
      , eager_limit(std::stod(zone->get_property("eager_limit_bytes")))
  {
    auto* network = zone->get_network_model();
    network->set_bw_factor_cb([](double, const s4u::Host*, const s4u::Host*, const auto&, const auto&) { return 1.0; });
    network->set_lat_factor_cb([this](double size, const s4u::Host* from, const s4u::Host* to,
                                      const std::vector<s4u::Link*>& links,
                                      const auto&) { return wire(size, from, to, links); });
  }
  Messages(const Messages&) = delete; // SimGrid keeps its address

  double seconds(double bytes, const s4u::Host* from, const s4u::Host* to, Part part) const
  {
    return (from == to ? inside : between).seconds(bytes, part);
  }

  // Seconds from when a message is there until it is received: if it met another, it is late, and the receiver may be busy.
  double receiving(double bytes, const s4u::Host* from, const s4u::Host* to, double busy = 0) const
  {
    double late = busy;
    if (meeting)
      if (const Coming& last = coming[to]; last.from == from)
        late = std::max(late, last.late_until - s4u::Engine::get_clock());
    return late + seconds(bytes, from, to, &Knot::receive);
  }
};
