// Cores that several ranks share: which rank runs, which ranks wait, and for how long each runs.
//
// A rank keeps its core for a time slice (a turn), and longer while no other rank wants the core. A rank that wakes
// from sleep preempts the running rank, which continues its turn afterwards.

#pragma once

#include "messages.hpp"

#include <deque>
#include <set>

constexpr double RESOLUTION = 1e-9; // SimGrid does not distinguish times that are closer

struct Occupant;

struct Core {
  Occupant* running = nullptr;
  Occupant* last    = nullptr; // ran before
  std::deque<Occupant*> queue;
  std::set<Occupant*> polling; // yielded, and poll while the core is idle
  double first_turn = 0; // seconds of the first turn; 0: as any other
  double turn_ends = 0, accounted = 0;
};

struct Occupant {
  static inline double turn = 0, switch_seconds = 0; // seconds of a turn, and of a context switch
  Core* core;
  s4u::SemaphorePtr event = s4u::Semaphore::create(0); // signals a condition that the rank may wait for
  double busy = 0, turn_left = 0;

  explicit Occupant(Core* core) : core(core) {}

  // Wait for the core, behind the ranks in the queue.
  void have()
  {
    if (!core->running) {
      give(this);
    } else if (core->running != this) {
      if (std::find(core->queue.begin(), core->queue.end(), this) == core->queue.end()) {
        core->queue.push_back(this);
        core->running->event->release(); // from now on, its turn ends
      }
      while (core->running != this)
        event->acquire();
    }
    bool changed = core->last && core->last != this;
    core->last   = this;
    if (changed) {
      spend(switch_seconds);
      have(); // the turn may be over
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

  // Compute for some seconds, in as many turns as necessary.
  void spend(double seconds)
  {
    while (seconds > RESOLUTION) {
      have();
      double start = now();
      idle_until(start + seconds);
      seconds -= now() - start;
    }
  }

  // Keep the core until a time, the end of the turn or an event, whichever is first. At the end of the turn, yield.
  void idle_until(double time)
  {
    event->acquire_timeout(std::max(RESOLUTION, std::min(time, core->turn_ends) - now()));
    if (core->running == this && now() > core->turn_ends - RESOLUTION) {
      core->queue.push_back(this);
      leave();
    }
  }

  // Yield the core to any other rank, and poll for an event while the core is idle.
  void poll()
  {
    core->polling.insert(this);
    leave();
    event->acquire();
    account();
    core->polling.erase(this);
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

  // Account the time since the last change to the running rank, or in equal parts to the polling ranks.
  void account()
  {
    double passed = now() - core->accounted;
    core->accounted = now();
    if (core->running)
      core->running->busy += passed;
    else
      for (Occupant* occupant : core->polling)
        occupant->busy += passed / core->polling.size();
  }

  static double now() { return s4u::Engine::get_clock(); }

private:
  void give(Occupant* next)
  {
    account();
    core->running = next;
    if (!next)
      return;
    double left     = std::max(core->first_turn, next->turn_left);
    core->turn_ends = now() + (left > RESOLUTION ? left : turn);
    core->first_turn = next->turn_left = 0;
  }
};
