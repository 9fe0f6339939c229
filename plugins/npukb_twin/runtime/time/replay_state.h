// The state of a replay: cores, memory, and what happens next.
#pragma once
#include "time/replay_queue.h"

#include <stdlib.h>
#include <string.h>

#include "time/share.h"

namespace twin {

using namespace replay;

struct Replay::State {
    Replay& replay;
    const Machine& m;
    const Choice& choice;
    double cycle;
    CoreState* cores = nullptr;
    int64_t count = 0;
    EventHeap events;
    Share memory, l2;
    SignalState* signals = nullptr;  // kSignals of them
    bool told = false;               // a signal was raised: blocked cores have to look again

    explicit State(Replay& r)
        : replay(r), m(r.launch_.machine), choice(r.choice_), cycle(1 / r.launch_.machine.clock_hz) {}

    LineTime& LineOf(uint32_t pc, Pipe pipe) {
        uint32_t at = (pc * 2654435761u >> 20) + static_cast<uint32_t>(pipe);
        for (int i = 0; i < kLineTimes - 1; ++i, ++at) {
            LineTime& line = replay.lines_[at % kLineTimes];
            if (line.count != 0 && (line.pc != pc || line.pipe != pipe)) continue;
            line.pc = pc;
            line.pipe = pipe;
            return line;
        }
        return replay.lines_[at % kLineTimes];
    }
    // Names below zero are known among the cores of a block only. A launch with more signals than there is room for is
    // told so by two of them being one, which may make cores wait longer.
    SignalState& SignalOf(int64_t name, int64_t group) {
        if (name >= 0) group = -1;
        uint64_t at = (static_cast<uint64_t>(name) * 0x9e3779b97f4a7c15ull +
                       static_cast<uint64_t>(group) * 0xd1b54a32d192ed03ull) >>
                      40;
        for (int i = 0; i < kSignals; ++i, ++at) {
            SignalState& s = signals[at % kSignals];
            if (s.used && (s.name != name || s.group != group)) continue;
            s.used = true;
            s.name = name;
            s.group = group;
            return s;
        }
        return signals[at % kSignals];
    }

    void Tell(const CoreState& core, const TapeEvent& event) {
        SignalState& s = SignalOf(event.detail, core.group);
        double weight = event.detail < 0 ? 1 : core.weight;
        if (event.mark == TapeMark::Arrive) {
            double& arrived = s.arrived[event.a % kSignalDepth];
            arrived += weight;
            if (arrived + 0.5 < event.b) return;
            arrived = 0;
            if (event.flags & kTapeCoreFlag) RaiseFlags(core, event.stride - 1);
            ++s.count;
        } else {
            s.count += static_cast<uint64_t>(weight + 0.5);
        }
        told = true;
    }
    // A flag between cores is raised: on all cores of a kind, on the vector cores of the block, or on its cube core.
    void RaiseFlags(const CoreState& core, int32_t kind) {
        int mode = kind / 64, id = kind % 64 / 2;
        bool of_cube = kind % 2;
        int64_t per_block = replay.launch_.CoresPerBlock(),
                cubes = replay.launch_.per_block[static_cast<int>(CoreKind::Cube)];
        bool on_cubes = mode == 2 ? !of_cube : of_cube;
        for (int64_t place = on_cubes ? 0 : cubes; place < (on_cubes ? cubes : per_block); ++place) {
            for (int64_t c = 0; c < count; c += per_block) {
                if (mode != 0 && cores[c].group != core.group) continue;
                ++SignalOf(CoreFlagName(place, id), cores[c].group).count;
            }
        }
    }

    void Push(CoreState& core, const TapeEvent& event) {
        PipeQueue& q = core.pipes[static_cast<int>(event.pipe)];
        QueueEntry& e = q.entries[(q.head + q.count++) % kQueueRoom];
        e.event = event;
        e.address = core.address;
        e.ready = core.scalar;
        e.blocked = false;
        e.path = core.path;
        ++q.pushed;
        if (event.mark == TapeMark::Move) e.fate = core.fates->Next();
        if (event.mark == TapeMark::Vector) e.target = event.b == 0 || event.b > q.pushed ? 0 : q.pushed - event.b;
        if (event.mark == TapeMark::Hold) {
            uint32_t back = choice.double_buffer && (event.flags & kTapeBuffer) ? event.b : event.a;
            uint64_t pushed = core.pipes[static_cast<int>(event.other)].pushed - (event.other == event.pipe ? 1 : 0);
            e.target = pushed >= back ? pushed - back : 0;
        }
    }

    bool Drained(const CoreState& core, double* end) const {
        for (const PipeQueue& q : core.pipes) {
            if (q.count > 0) return false;
            *end = q.complete_at > *end ? q.complete_at : *end;
        }
        return true;
    }

    // The scalar unit is held up until `time` by what `path` says.
    void Catch(CoreState& core, double time, const Path& path) {
        if (time <= core.scalar) return;
        core.result->pipes[kScalarPipe].wait_s += time - core.scalar;
        core.scalar = time;
        core.path = path;
    }
    Path LatestPath(const CoreState& core) const {
        const PipeQueue* latest = &core.pipes[0];
        for (const PipeQueue& q : core.pipes) latest = q.complete_at > latest->complete_at ? &q : latest;
        return latest->DonePath(latest->done);
    }

    // One event of the scalar unit. Returns whether it could be dealt with.
    bool Step(CoreState& core, double now) {
        const TapeEvent& e = core.event;
        switch (e.mark) {
            case TapeMark::Hold:
                if (e.pipe == Pipe::S) return StepWait(core, e);
                [[fallthrough]];
            case TapeMark::Run:
            case TapeMark::Vector:
            case TapeMark::Move: {
                PipeQueue& q = core.pipes[static_cast<int>(e.pipe)];
                if (q.count >= m.queue_depth || q.count >= kQueueRoom)
                    return core.stop = Stop::Full, core.waited = true, false;
                if (core.waited) Catch(core, now, q.path);
                Push(core, e);
                return true;
            }
            case TapeMark::All:
            case TapeMark::End: return StepAll(core, e);
            case TapeMark::Arrive:
            case TapeMark::Raise:
                if (e.pipe != Pipe::S) {
                    if (core.pipes[static_cast<int>(e.pipe)].count >= kQueueRoom)
                        return core.stop = Stop::Full, core.waited = true, false;
                    Push(core, e);
                    return true;
                }
                if (core.scalar > now) return Later(core);
                Tell(core, e);
                return true;
            case TapeMark::Wait: return StepSignal(core, e, now);
            case TapeMark::Until: return StepUntil(core, e);
            case TapeMark::Again: break;
        }
        return true;
    }
    bool StepUntil(CoreState& core, const TapeEvent& e) {
        double wait = core.began + e.work * cycle - core.scalar;
        if (wait <= 0) return true;
        core.path.Add(Part::Sync, wait);
        core.result->pipes[kScalarPipe].wait_s += wait;
        core.scalar += wait;
        return true;
    }
    bool Later(CoreState& core) {
        core.stop = Stop::Until;
        events.Push(core.scalar, kStartFlag | static_cast<uint32_t>(core.index * 8) | kScalarPipe);
        return false;
    }
    bool StepWait(CoreState& core, const TapeEvent& e) {
        PipeQueue& q = core.pipes[static_cast<int>(e.other)];
        if (!core.waited) core.target = q.pushed >= e.a ? q.pushed - e.a : 0;
        if (e.other != Pipe::S && q.done < core.target) return core.stop = Stop::Pipe, core.waited = true, false;
        double at = q.DoneAt(core.target);
        Path path = q.DonePath(core.target);
        path.Add(Part::Flag, e.work * cycle / choice.merge);
        if (e.other != Pipe::S) Catch(core, at + e.work * cycle / choice.merge, path);
        return true;
    }
    bool StepAll(CoreState& core, const TapeEvent& e) {
        if (e.mark == TapeMark::All && (e.flags & kTapeBarrier) && choice.no_barriers) return true;
        double end = 0;
        if (!Drained(core, &end)) return core.stop = Stop::All, false;
        Catch(core, end, LatestPath(core));
        double cost = e.work * cycle;
        Part part = e.flags & kTapeBarrier ? Part::Barrier : Part::Sync;
        if (e.flags & kTapeBarrier) cost /= choice.merge;
        if (e.mark == TapeMark::End && core.program.tape().rest() > 0) {
            part = Part::Rest;
            cost = core.program.tape().rest() * cycle;
            core.result->truncated = true;
        }
        core.path.Add(part, cost);
        core.scalar += cost;
        core.result->pipes[kScalarPipe].wait_s += cost;
        for (PipeQueue& q : core.pipes) {
            q.free_at = q.complete_at = core.scalar;
            q.path = q.done_path[q.done % kRecent] = core.path;
        }
        if (e.mark == TapeMark::End) core.began = core.scalar;
        return true;
    }
    bool StepSignal(CoreState& core, const TapeEvent& e, double now) {
        if (core.scalar > now) return Later(core);
        SignalState& s = SignalOf(e.detail, core.group);
        if (s.count < e.a) return core.stop = Stop::Signal, core.waited = true, false;
        double late = now - core.scalar;
        if (core.waited && late > 0) {
            core.path.Add(Part::Sync, late);
            core.result->pipes[kScalarPipe].wait_s += late;
            core.scalar = now;
        }
        return true;
    }

    // The scalar unit goes on as far as it can.
    bool Decode(CoreState& core, double now) {
        bool any = false;
        core.stop = Stop::None;
        for (;;) {
            if (!core.holds_event) {
                const TapeEvent* next = core.program.Next();
                if (next == nullptr) {
                    core.stop = Stop::Ended;
                    core.result->end_s = core.scalar;
                    core.result->path = core.path;
                    return any;
                }
                core.event = *next;
                core.address = core.program.address();
                core.holds_event = true;
                core.waited = false;
                double own = core.event.scalar * cycle / choice.merge * (choice.no_scalar_access ? core.compute : 1);
                core.scalar += own;
                core.path.Add(Part::Scalar, own);
                core.result->pipes[kScalarPipe].busy_s += own;
                core.result->pipes[kScalarPipe].instructions += 1;
            }
            if (!Step(core, now)) return any;
            core.holds_event = false;
            any = true;
        }
    }

    // The pipe is free at `end`; what it has done is there `after` later, of which `part` is the cause.
    static void Finish(PipeQueue& q, double end, double after = 0, Part part = Part::Latency) {
        ++q.done;
        q.free_at = end;
        q.result_at[q.done % kTapeLateBack] = end + after;
        Path& path = q.done_path[q.done % kRecent];
        if (end + after >= q.complete_at) {
            path = q.path;
            path.Add(part, after);
            q.complete_at = end + after;
        } else {
            path = q.done_path[(q.done - 1) % kRecent];  // in order
        }
        q.done_at[q.done % kRemembered] = q.complete_at;
        ++q.head;
        --q.count;
    }
    // Entries that take no time of their own. Returns whether the head of the queue was one that is over.
    bool Pass(CoreState& core, PipeQueue& q, double now) {
        QueueEntry& e = q.front();
        double before = e.ready > q.free_at ? e.ready : q.free_at;
        if (e.event.mark == TapeMark::Hold) {
            const PipeQueue& other = core.pipes[static_cast<int>(e.event.other)];
            bool scalar = e.event.other == Pipe::S;
            if (!scalar && other.done < e.target) return e.blocked = true, false;
            double delay = e.event.work * cycle / choice.merge;
            double at = (scalar ? e.ready : other.DoneAt(e.target)) + delay;
            if (e.ready > q.free_at) q.path = e.path;
            if (at > before) {
                bool other_binds = !scalar && at - delay > before;
                if (other_binds) q.path = other.DonePath(e.target);
                q.path.Add(Part::Flag, other_binds ? delay : at - before);
                PipeTime& time = core.result->pipes[static_cast<int>(e.event.pipe)];
                time.wait_s += at - before;
                LineTime& line = LineOf(e.event.pc, e.event.pipe);
                line.wait_s += (at - before) * core.weight;
                line.count += static_cast<uint64_t>(core.weight);
            }
            Finish(q, at > before ? at : before);
            return true;
        }
        before = before > q.complete_at ? before : q.complete_at;
        if (before > now) {
            Postpone(core, q, e, before);
            return false;
        }
        Tell(core, e.event);
        if (before > q.free_at) q.path = e.ready > q.complete_at ? e.path : q.DonePath(q.done);
        Finish(q, before);
        return true;
    }
    void Postpone(CoreState& core, PipeQueue& q, const QueueEntry& e, double until) {
        if (q.starting) return;
        q.starting = true;
        events.Push(until, kStartFlag | static_cast<uint32_t>(core.index * 8 + static_cast<int>(e.event.pipe)));
    }

    // Starts what can start on a pipe. Returns whether anything happened.
    bool Start(CoreState& core, int p, double now) {
        PipeQueue& q = core.pipes[p];
        bool any = false;
        while (q.count > 0 && !q.running) {
            QueueEntry& e = q.front();
            TapeMark mark = e.event.mark;
            if (mark == TapeMark::Hold || mark == TapeMark::Arrive || mark == TapeMark::Raise) {
                if (!Pass(core, q, now)) return any;
                any = true;
                continue;
            }
            double start = e.ready > q.free_at ? e.ready : q.free_at;
            if (mark == TapeMark::Move && start > now) return Postpone(core, q, e, start), any;
            bool idle = e.ready > q.free_at;
            if (idle) q.path = e.path;
            q.running = true;
            q.start = Ready(q, e, start);
            auto id = static_cast<uint32_t>(core.index * 8 + p);
            if (mark == TapeMark::Move) {
                StartMove(core, q, e, id);
            } else {
                Work(q, e.event, idle, p);
                events.Push(q.own_end, id);
            }
            any = true;
        }
        return any;
    }
    // When a vector instruction may begin: issue goes on before the results of others are there, and only what reads a
    // late one waits for it. A barrier between the two begins when it is there.
    double Ready(PipeQueue& q, const QueueEntry& e, double start) {
        if (e.event.mark == TapeMark::Run && (e.event.flags & kTapeBarrier)) q.barrier = q.done + 1;
        if (e.event.mark != TapeMark::Vector || e.target == 0) return start;
        bool barrier = q.barrier > e.target && !choice.no_barriers;
        double there = q.result_at[e.target % kTapeLateBack] + (barrier ? m.barrier_cycles * cycle / choice.merge : 0);
        if (there <= start) return start;
        q.path.Add(Part::Issue, there - start);
        return there;
    }
    // An instruction that needs nobody but its pipe.
    void Work(PipeQueue& q, const TapeEvent& event, bool idle, int p) {
        double seconds = event.work * cycle;
        if (event.mark == TapeMark::Vector) {
            double head = (idle ? m.vector_idle_head_cycles : m.vector_head_cycles) +
                          (event.flags & kTapeChain ? m.vector_chain_cycles : 0);
            head *= cycle / choice.merge;
            double conflict = choice.no_conflicts ? 0 : event.conflict * cycle;
            q.path.Add(Part::Issue, head);
            q.path.Add(Part::Vector, seconds);
            q.path.Add(Part::Banks, conflict);
            seconds += head + conflict;
        } else if (event.flags & kTapeBarrier) {
            seconds = choice.no_barriers ? 0 : seconds / choice.merge;
            q.path.Add(Part::Barrier, seconds);
        } else {
            Pipe pipe = static_cast<Pipe>(p);
            q.path.Add(IsCube(pipe) ? Part::Cube : pipe == Pipe::V ? Part::Vector : Part::Move, seconds);
        }
        q.own_end = q.start + seconds;
    }
    // Seconds per byte of a core that has memory to itself.
    double PaceOf(const TapeEvent& event, const Fate& fate) const {
        if (event.pipe == Pipe::FIX) return 1 / m.fixpipe_bytes_per_s;
        if (event.flags & kTapeWrite) return 1 / (m.copy_out_bytes_per_cycle * m.clock_hz);
        if (event.flags & kTapeLateral)
            return fate.fresh / m.l1_in_bytes_per_s + (1 - fate.fresh) / m.l1_in_l2_bytes_per_s;
        return fate.fresh / m.copy_in_bytes_per_s + (1 - fate.fresh) / (m.copy_in_bytes_per_cycle * m.clock_hz);
    }
    void StartMove(CoreState& core, PipeQueue& q, const QueueEntry& e, uint32_t id) {
        const TapeEvent& event = e.event;
        const Fate& fate = e.fate;
        bool out = event.flags & kTapeWrite;
        const TapeEvent joined = Joined(event);
        Reach reach = ReachOf(joined, e.address);
        double slow = choice.aligned ? 1 : UnalignedCost(joined, reach);
        double piece = event.a < m.piece_bytes && event.b > 1 ? m.piece_bytes : event.a;
        double bytes = piece * event.b, small = bytes < 16384 ? m.copy_out_small_s * (1 - bytes / 16384) : 0;
        q.fixed_s = (out ? m.copy_out_latency_s + small : m.copy_in_latency_s) / choice.merge;
        q.hidden_s = out || fate.missed <= 0 ? 0 : m.memory_latency_s / choice.merge;
        double least = event.b > 1 ? event.b * m.piece_cycles * RequestsPerPiece(joined, e.address) : 0;
        double issue = (m.copy_issue_cycles > least ? m.copy_issue_cycles : least) * cycle / choice.merge;
        double shared = fate.shared && !out && !choice.staggered ? 1 / m.shared_granule_factor : 1;
        double pace = bytes * PaceOf(event, fate) * slow * shared;
        q.own_s = pace > issue ? pace : issue;
        q.own_end = q.start + q.own_s;
        q.memory_end = q.l2_end = 0;
        bool whole =
            joined.b == 1 && joined.a >= kGranule;  // what its first and last granule hold besides is not its business
        double touched = whole ? reach.wanted : reach.bytes, wanted = touched > 0 ? reach.wanted / touched : 0;
        double missed = fate.missed * reach.bytes, evicted = fate.evicted * touched;
        missed = missed < touched ? missed : touched;
        q.served_by = 0;
        double from_memory = missed * wanted / m.hbm_read_bytes_per_s * slow;
        Use(memory, core, q, id, from_memory);
        double cached = touched / m.l2_bytes_per_s * shared, queued = out ? 0 : Queued(fate, touched);
        Use(l2, core, q, id, cached > queued ? cached : queued);
        q.later_s = missed * (1 - wanted) / m.hbm_read_bytes_per_s + evicted / m.hbm_write_bytes_per_s * slow;
        if (from_memory <= 0) Later(core, q, q.start, id);
        q.owed = q.fills >= kMostFills;
        if (q.owed) ++q.served_by;
        q.held = (event.flags & kTapeLateral) != 0;
        q.held_s = 0;
        q.vector_before = VectorWork(core, q.start);
        core.result->hbm_bytes += missed + evicted;
        core.result->l2_bytes += touched;
        if (q.served_by == 0) events.Push(q.own_end, id);
    }
    // Seconds of L2 for granules that several cores want while they come from memory: those cores are served one after
    // another, different granules side by side.
    double Queued(const Fate& fate, double touched) const {
        return choice.staggered ? 0 : touched / static_cast<double>(kGranule) * fate.crowd * m.same_granule_s;
    }
    // Requests that a piece takes on average: one of an unaligned row may straddle one line more than it fills. Pieces
    // begin at multiples of the largest power of two that their first address and their distance share.
    double RequestsPerPiece(const TapeEvent& joined, uint64_t address) const {
        if (choice.aligned || joined.b < 2 || joined.a == 0) return 1;
        uint64_t places = address | static_cast<uint64_t>(joined.stride) | kLine, grain = places & (~places + 1);
        uint64_t beyond = (joined.a - 1) % kLine + 1;  // of the piece, in its last line
        return beyond <= grain ? 1 : 1 + static_cast<double>(beyond - grain) / static_cast<double>(kLine);
    }
    // What transfers cost that do not begin where they should: pieces touch more granules, and one long piece is cut
    // up.
    double UnalignedCost(const TapeEvent& event, const Reach& reach) const {
        if (!reach.unaligned || event.a < kGranule) return 1;
        return event.b > 1 ? reach.bytes / (static_cast<double>(event.a) * event.b) : 1 / m.unaligned_factor;
    }
    // Seconds that the vector unit of a core has worked until `time`.
    static double VectorWork(const CoreState& core, double time) {
        const PipeQueue& v = core.pipes[static_cast<int>(Pipe::V)];
        if (!v.running || time <= v.start) return core.vector_s;
        return core.vector_s + ((time < v.own_end ? time : v.own_end) - v.start);
    }
    void Use(Share& share, const CoreState& core, PipeQueue& q, uint32_t id, double seconds) {
        if (seconds <= 0) return;
        share.Join(q.start, id, seconds, core.weight);
        ++q.served_by;
    }
    // Memory brings whole granules, and takes back what had to make room. The transfer has what it wants; the rest
    // comes meanwhile.
    void Later(const CoreState& core, PipeQueue& q, double now, uint32_t id) {
        if (q.later_s <= 0) return;
        memory.Join(now, kFillFlag | id, q.later_s, core.weight);
        ++q.fills;
    }
    void Served(Share& share, double now) {
        uint32_t id = share.Serve(now);
        bool fill = id & kFillFlag;
        id &= ~kFillFlag;
        CoreState& core = cores[id / 8];
        share.Leave(core.weight);
        PipeQueue& q = core.pipes[id % 8];
        if (fill) {
            --q.fills;
            if (!q.owed) return;
            q.owed = false;
        } else if (&share == &memory) {
            Later(core, q, now, id);
        }
        (&share == &memory ? q.memory_end : q.l2_end) = now;
        if (--q.served_by == 0) events.Push(now > q.own_end ? now : q.own_end, id);
    }

    // A pipe is through with the instruction it was running.
    void Complete(CoreState& core, int p, double now) {
        PipeQueue& q = core.pipes[p];
        const TapeEvent& event = q.front().event;
        if (event.mark == TapeMark::Move && !q.held) {
            // UB serves the vector unit first.
            q.held = true;
            q.held_s = m.ub_contention * (VectorWork(core, now) - q.vector_before);
            if (q.held_s > 0) return events.Push(now + q.held_s, static_cast<uint32_t>(core.index * 8 + p));
        }
        if (static_cast<Pipe>(p) == Pipe::V) core.vector_s += q.own_end - q.start;
        uint64_t bytes = 0;
        double after = event.mark == TapeMark::Run ? event.conflict * cycle : 0;
        if (event.mark == TapeMark::Vector) after = event.a * cycle / choice.merge;
        if (event.mark == TapeMark::Move) {
            double late = now - q.held_s - q.own_end;
            after = q.fixed_s + (q.hidden_s > late ? q.hidden_s - late : 0);
            bytes = static_cast<uint64_t>(event.a) * event.b;
            q.path.Add(Part::Move, q.own_s);
            if (late > 0) q.path.Add(q.memory_end >= q.l2_end ? Part::Memory : Part::L2, late);
            q.path.Add(Part::Banks, q.held_s);
        }
        Account(core, q, event, event.mark == TapeMark::Move ? now + after : now, bytes);
        q.running = false;
        Part part = event.mark == TapeMark::Vector ? Part::Issue : Part::Cube;
        Finish(q, now, after, event.mark == TapeMark::Move ? Part::Latency : part);
    }
    // The instruction at the head of the queue ends; the time that it shares with the one before it counts once.
    void Account(CoreState& core, PipeQueue& q, const TapeEvent& event, double end, uint64_t bytes) {
        double from = q.start > q.busy_until ? q.start : q.busy_until, busy = end > from ? end - from : 0;
        q.busy_until = from + busy;
        PipeTime& time = core.result->pipes[static_cast<int>(event.pipe)];
        time.busy_s += busy;
        ++time.instructions;
        time.bytes += bytes;
        LineTime& line = LineOf(event.pc, event.pipe);
        line.busy_s += busy * core.weight;
        line.count += static_cast<uint64_t>(core.weight);
        line.bytes += bytes * static_cast<uint64_t>(core.weight);
        if (replay.trace_count_ < replay.trace_room_ && core.group == 0) {
            replay.trace_[replay.trace_count_++] = {
                static_cast<int32_t>(core.result->core), event.pc, from, end, bytes, event.pipe};
        }
    }

    void Advance(CoreState& core, double now) {
        for (bool any = true; any;) {
            any = core.stop != Stop::Ended && core.stop != Stop::Until && Decode(core, now);
            for (int p = 1; p < kPipes; ++p) any = Start(core, p, now) || any;
        }
    }
    void AdvanceTold(double now) {
        while (told) {
            told = false;
            for (int64_t c = 0; c < count; ++c) {
                if (cores[c].stop == Stop::Signal) Advance(cores[c], now);
            }
        }
    }

    void Loop() {
        for (int64_t c = 0; c < count; ++c) Advance(cores[c], 0);
        AdvanceTold(0);
        for (;;) {
            double at = events.empty() ? kNever : events.time();
            double served = memory.empty() ? kNever : memory.NextAt();
            double cached = l2.empty() ? kNever : l2.NextAt();
            if (served <= at && served <= cached && served < kNever) {
                Served(memory, served);
            } else if (cached <= at && cached < kNever) {
                Served(l2, cached);
            } else if (at < kNever) {
                Happen(at);
            } else {
                return;
            }
        }
    }
    void Happen(double now) {
        uint32_t id = events.Pop();
        bool starts = id & kStartFlag;
        id &= ~kStartFlag;
        CoreState& core = cores[id / 8];
        int p = static_cast<int>(id % 8);
        if (starts && p == static_cast<int>(kScalarPipe)) {
            core.stop = Stop::None;
        } else if (starts) {
            core.pipes[p].starting = false;
        } else {
            Complete(core, p, now);
        }
        Advance(core, now);
        AdvanceTold(now);
    }
};

}  // namespace twin
