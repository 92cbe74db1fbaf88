// Cores that ranks share: who has one, who would have it, and for how long.
//
// A rank that has its core keeps it for a turn and goes on while nobody else would have it. One that wakes from sleep
// has it at once, and the other goes on with its turn afterwards.

#pragma once

#include "messages.hpp"

#include <deque>
#include <set>

constexpr double INSTANT = 1e-9; // SimGrid tells no two times apart that are closer

struct Occupant;

struct Core {
  Occupant* running = nullptr;
  Occupant* last    = nullptr; // had it before
  std::deque<Occupant*> queue;
  std::set<Occupant*> looking; // gave it up, and look from time to time while nobody has it
  double first_turn = 0; // seconds that whoever has it first keeps it; 0: a turn
  double turn_ends = 0, settled = 0;
};

struct Occupant {
  static inline double turn = 0, change = 0; // seconds of a turn, and until another rank goes on
  Core* core;
  s4u::SemaphorePtr event = s4u::Semaphore::create(0); // something that it may wait for has happened
  double busy = 0, turn_left = 0;

  explicit Occupant(Core* core) : core(core) {}

  // Have the core, after all that wanted it before.
  void have()
  {
    if (!core->running) {
      give(this);
    } else if (core->running != this) {
      if (std::find(core->queue.begin(), core->queue.end(), this) == core->queue.end()) {
        core->queue.push_back(this);
        core->running->event->release(); // its turn has an end now
      }
      while (core->running != this)
        event->acquire();
    }
    bool changed = core->last && core->last != this;
    core->last   = this;
    if (changed) {
      spend(change);
      have(); // its turn may be over
    }
  }

  void leave()
  {
    Occupant* next = core->queue.empty() ? nullptr : core->queue.front();
    if (next)
      core->queue.pop_front();
    give(next);
    if (next)
      next->event->release();
  }

  // Keep the core busy for so long, in as many turns as it takes.
  void spend(double seconds)
  {
    while (seconds > INSTANT) {
      have();
      double start = now();
      idle_until(start + seconds);
      seconds -= now() - start;
    }
  }

  // Keep the core until the time, the end of the turn or an event; at the end of the turn others have theirs.
  void idle_until(double time)
  {
    event->acquire_timeout(std::max(INSTANT, std::min(time, core->turn_ends) - now()));
    if (core->running == this && now() > core->turn_ends - INSTANT) {
      core->queue.push_back(this);
      leave();
    }
  }

  // Give the core to anybody, and look for an event while nobody has it.
  void look()
  {
    core->looking.insert(this);
    leave();
    event->acquire();
    settle();
    core->looking.erase(this);
  }

  void sleep(double seconds)
  {
    leave();
    s4u::this_actor::sleep_for(seconds);
    if (Occupant* other = core->running) {
      other->turn_left = core->turn_ends - now();
      core->queue.push_front(other);
      give(this);
      other->event->release();
    }
    have();
  }

  // Say who kept the core busy since the last change: whoever had it, else all that looked in turn.
  void settle()
  {
    double passed = now() - core->settled;
    core->settled = now();
    if (core->running)
      core->running->busy += passed;
    else
      for (Occupant* occupant : core->looking)
        occupant->busy += passed / core->looking.size();
  }

  static double now() { return s4u::Engine::get_clock(); }

private:
  void give(Occupant* next)
  {
    settle();
    core->running = next;
    if (!next)
      return;
    double left     = std::max(core->first_turn, next->turn_left);
    core->turn_ends = now() + (left > INSTANT ? left : turn);
    core->first_turn = next->turn_left = 0;
  }
};
