// JSON is put into memory that exists before the kernel runs, because a signal handler may have to write it.
#include "process/report.h"

#include "check/journal.h"
#include "time/replay.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace twin {
namespace {

int g_descriptor = -1;
char g_token[64];

class Json {
  public:
    void Put(const char* format, ...) __attribute__((format(printf, 2, 3))) {
        va_list arguments;
        va_start(arguments, format);
        int n = vsnprintf(text_ + size_, sizeof text_ - size_, format, arguments);
        va_end(arguments);
        if (n > 0)
            size_ = size_ + static_cast<size_t>(n) < sizeof text_ ? size_ + static_cast<size_t>(n) : sizeof text_ - 1;
        if (size_ > sizeof text_ / 2) Send();
    }
    void Text(const char* value) {
        Put("\"");
        for (const char* p = value; *p != 0; ++p) {
            auto c = static_cast<unsigned char>(*p);
            if (c == '"' || c == '\\') {
                Put("\\%c", c);
            } else if (c < 0x20 || c >= 0x7f) {
                Put("\\u%04x", c);
            } else {
                Put("%c", c);
            }
        }
        Put("\"");
    }
    // Every report begins with the launch's token, which the kernel is not told.
    void Open() { Put("{\"token\":\"%s\",", g_token); }
    void Send() {
        size_t sent = 0;
        while (sent < size_) {
            ssize_t n = write(g_descriptor, text_ + sent, size_ - sent);
            if (n <= 0) break;
            sent += static_cast<size_t>(n);
        }
        size_ = 0;
    }

  private:
    char text_[1 << 18];
    size_t size_ = 0;
};

Json& Document() {
    static Json json;  // too large for a signal stack
    return json;
}

}  // namespace

namespace {

const char* SeverityName(Severity severity) {
    if (severity == Severity::Error) return "error";
    return severity == Severity::Warning ? "warning" : "note";
}

}  // namespace

void Totals::Add(const Core& core) {
    bytes_in += core.bytes_in;
    bytes_out += core.bytes_out;
    transfers += core.time.Begun(Pipe::MTE2) + core.time.Begun(Pipe::MTE3);
    ub_used = core.ub_used > ub_used ? core.ub_used : ub_used;
    diagnostics.Merge(core.diagnostics);
}

void SetReportDescriptor(int descriptor, const char* token) {
    g_descriptor = descriptor;
    snprintf(g_token, sizeof g_token, "%s", token);
}

void ReportFailure(const char* status, const char* message) {
    Json& json = Document();
    json.Open();
    json.Put("\"status\":");
    json.Text(status);
    json.Put(",\"message\":");
    json.Text(message);
    json.Put("}\n");
    json.Send();
}

void ReportRefused(const Verdict& verdict) {
    constexpr const char* kRefusals[] = {"none", "forged", "foreign", "unproven"};
    Json& json = Document();
    json.Open();
    json.Put("\"status\":\"refused\",\"refusal\":\"%s\",\"place\":%llu,\"message\":",
             kRefusals[static_cast<int>(verdict.refusal)], static_cast<unsigned long long>(verdict.place));
    json.Text(verdict.reason);
    json.Put("}\n");
    json.Send();
}

void ReportSignal(int signal, uint64_t pc, uint64_t address, bool stack_overflow) {
    Json& json = Document();
    json.Open();
    json.Put("\"status\":\"signal\",\"signal\":%d,\"pc\":%llu,\"address\":%llu,\"stack_overflow\":%s}\n", signal,
             static_cast<unsigned long long>(pc), static_cast<unsigned long long>(address),
             stack_overflow ? "true" : "false");
    json.Send();
}

namespace {

constexpr double kMicro = 1e6;
constexpr uint32_t kMostLines = 64;

void PutPipes(Json& json, const PipeTime* pipes, double weight) {
    for (int p = 0; p < npukb::kPipes; ++p) {
        json.Put("%s\"%s\":{\"busy_us\":%.17g,\"wait_us\":%.17g,\"instructions\":%llu,\"bytes\":%llu}",
                 p == 0 ? "" : ",", PipeName(static_cast<Pipe>(p)), pipes[p].busy_s * kMicro / weight,
                 pipes[p].wait_s * kMicro / weight, static_cast<unsigned long long>(pipes[p].instructions),
                 static_cast<unsigned long long>(pipes[p].bytes));
    }
}

// All cores of one kind.
struct KindTime {
    double cores, time_s;
    PipeTime pipes[npukb::kPipes];
    void Add(const CoreTime& core) {
        cores += core.weight;
        time_s += core.weight * core.end_s;
        auto whole = static_cast<uint64_t>(core.weight);
        for (int p = 0; p < npukb::kPipes; ++p) {
            pipes[p].busy_s += core.weight * core.pipes[p].busy_s;
            pipes[p].wait_s += core.weight * core.pipes[p].wait_s;
            pipes[p].instructions += whole * core.pipes[p].instructions;
            pipes[p].bytes += whole * core.pipes[p].bytes;
        }
    }
};

// Sums over the cores of a kind; times are means.
void PutKinds(Json& json, const Replay& replay) {
    KindTime kinds[kCoreKinds] = {};
    for (int64_t c = 0; c < replay.core_count(); ++c)
        kinds[static_cast<int>(replay.cores()[c].kind)].Add(replay.cores()[c]);
    json.Put("\"kinds\":{");
    bool first = true;
    for (int k = 0; k < kCoreKinds; ++k) {
        const KindTime& kind = kinds[k];
        if (kind.cores == 0) continue;
        json.Put("%s\"%s\":{\"cores\":%.17g,\"time_us\":%.17g,\"pipes\":{", first ? "" : ",",
                 CoreKindName(static_cast<CoreKind>(k)), kind.cores, kind.time_s * kMicro / kind.cores);
        PutPipes(json, kind.pipes, kind.cores);
        json.Put("}}");
        first = false;
    }
    json.Put("}");
}

void PutTotals(Json& json, const Replay& replay) {
    double hbm = 0, l2 = 0;
    bool truncated = false;
    for (int64_t c = 0; c < replay.core_count(); ++c) {
        const CoreTime& core = replay.cores()[c];
        hbm += core.weight * core.hbm_bytes;
        l2 += core.weight * core.l2_bytes;
        truncated = truncated || core.truncated;
    }
    json.Put("\"time_us\":%.17g,\"launch_us\":%.17g,", (replay.end_s() + replay.launch_s()) * kMicro,
             replay.launch_s() * kMicro);
    json.Put("\"hbm_bytes\":%.17g,\"l2_bytes\":%.17g,\"truncated\":%s,\"parts\":{", hbm, l2,
             truncated ? "true" : "false");
    for (int i = 0; i < kParts; ++i) {
        json.Put("%s\"%s\":%.17g", i == 0 ? "" : ",", PartName(i), replay.slowest().path.part[i] * kMicro);
    }
    json.Put("},");
    PutKinds(json, replay);
}

void PutCores(Json& json, const Replay& replay) {
    json.Put(",\"groups\":[");
    for (int64_t g = 0; g < replay.core_count(); ++g) {
        const CoreTime& core = replay.cores()[g];
        json.Put("%s{\"core\":%lld,\"kind\":\"%s\",\"alike\":%.17g,\"time_us\":%.17g,\"pipes\":{", g == 0 ? "" : ",",
                 static_cast<long long>(core.core), CoreKindName(core.kind), core.weight, core.end_s * kMicro);
        PutPipes(json, core.pipes, 1);
        json.Put("}}");
    }
    json.Put("]");
}

// As diagnostics say where something is.
unsigned long long PlaceOf(uint32_t pc) { return pc & kTapeCubeImage ? kCubeImage | (pc & ~kTapeCubeImage) : pc; }

int Later(const void* a, const void* b) {
    auto& x = *static_cast<const LineTime*>(a);
    auto& y = *static_cast<const LineTime*>(b);
    if (x.busy_s != y.busy_s) return x.busy_s < y.busy_s ? 1 : -1;
    if (x.pc != y.pc) return x.pc < y.pc ? -1 : 1;
    return static_cast<int>(x.pipe) - static_cast<int>(y.pipe);
}

void PutLine(Json& json, const LineTime& line, bool first) {
    json.Put("%s[%llu,\"%s\",%llu,%.17g,%.17g,%llu]", first ? "" : ",", PlaceOf(line.pc), PipeName(line.pipe),
             static_cast<unsigned long long>(line.count), line.busy_s * kMicro, line.wait_s * kMicro,
             static_cast<unsigned long long>(line.bytes));
}

// Lines with the most time first: place, pipe, how often, busy and waiting, bytes.
void PutLines(Json& json, const Launch& launch, const Replay& replay) {
    static LineTime lines[kLineTimes];
    memcpy(static_cast<void*>(lines), replay.lines(), sizeof lines);
    qsort(lines, kLineTimes, sizeof(LineTime), Later);
    json.Put(",\"lines\":[");
    bool first = true;
    for (uint32_t i = 0; i < kMostLines && lines[i].count > 0; ++i, first = false) PutLine(json, lines[i], first);
    for (int64_t c = 0; c < launch.CoresPerBlock(); ++c) {  // of the first block, for all
        for (uint32_t i = 0; launch.tapes[c] != nullptr && i < kScalarSites; ++i) {
            const ScalarSite& site = launch.tapes[c]->scalar_sites()[i];
            if (site.count == 0) continue;
            double cores = static_cast<double>(launch.blocks);
            PutLine(json,
                    {site.pc, Pipe::S, site.count * static_cast<uint64_t>(launch.blocks),
                     site.cycles * cores / launch.machine.clock_hz, 0, 0},
                    first);
            first = false;
        }
    }
    json.Put("]");
}

void PutTrace(Json& json, const Replay& replay) {
    json.Put(",\"trace\":[");
    for (uint32_t i = 0; i < replay.trace_count(); ++i) {
        const TraceEvent& e = replay.trace()[i];
        json.Put("%s[%d,%d,%llu,%.4f,%.4f,%llu]", i == 0 ? "" : ",", e.core, static_cast<int>(e.pipe), PlaceOf(e.pc),
                 e.start_s * kMicro, e.end_s * kMicro, static_cast<unsigned long long>(e.bytes));
    }
    json.Put("]");
}

// What other decisions would give. Each is a replay of its own.
void PutChoices(Json& json, const Launch& launch, const Totals& totals) {
    constexpr double kFullTransfer = 16384, kMostMerged = 64;
    double moves = static_cast<double>(totals.transfers),
           bytes = static_cast<double>(totals.bytes_in + totals.bytes_out);
    double merge = moves > 0 && bytes > 0 && bytes / moves < kFullTransfer ? kFullTransfer * moves / bytes : 1;
    // How much larger buffers could be. Twice as many need smaller ones, which costs what larger ones would save.
    double fits = totals.ub_used > 0 ? static_cast<double>(launch.machine.ub_bytes) / totals.ub_used : kMostMerged;
    Choice choices[8];
    choices[0].double_buffer = true;
    choices[0].merge = fits < 2 ? fits / 2 : 1;
    choices[1].merge = merge < fits ? merge : (fits < 1 ? 1 : fits);
    if (choices[1].merge > kMostMerged) choices[1].merge = kMostMerged;
    choices[2].aligned = true;
    choices[3].no_conflicts = true;
    choices[4].bypass = true;
    choices[5].no_barriers = true;
    choices[6].no_scalar_access = true;
    choices[7].staggered = true;
    static const char* const names[] = {"double_buffer", "larger_transfers", "aligned",          "no_conflicts",
                                        "bypass",        "no_barriers",      "no_scalar_access", "staggered"};
    json.Put(",\"merge\":%.17g,\"fits\":%.17g,\"choices\":{", choices[1].merge, fits);
    for (int i = 0; i < 8; ++i) {
        Replay replay(launch, choices[i], 0);
        replay.Run();
        json.Put("%s\"%s\":%.17g", i == 0 ? "" : ",", names[i], (replay.end_s() + replay.launch_s()) * kMicro);
    }
    json.Put("}");
}

void PutProfile(Json& json, const Launch& launch, const Totals& totals) {
    constexpr uint32_t kTraceEvents = 6000;
    bool whole = launch.profile == Detail::Full;
    Replay replay(launch, Choice{}, whole ? kTraceEvents : 0);
    replay.Run();
    PutTotals(json, replay);
    if (!whole) return;
    PutCores(json, replay);
    PutLines(json, launch, replay);
    PutChoices(json, launch, totals);
    PutTrace(json, replay);
}

}  // namespace

namespace {

// Every buffer: its name, its bytes, how many of them lie where the kernel's instructions read, and where they wrote.
void PutBuffers(Json& json, const GlobalMemory& memory) {
    json.Put("\"buffers\":[");
    for (int i = 0; i < memory.size(); ++i) {
        const GlobalBuffer& buffer = memory[i];
        json.Put("%s[", i == 0 ? "" : ",");
        json.Text(buffer.name);
        json.Put(",%llu,%llu,%llu]", static_cast<unsigned long long>(buffer.bytes),
                 static_cast<unsigned long long>(Coverage::Count(buffer.coverage.read, buffer.bytes)),
                 static_cast<unsigned long long>(Coverage::Count(buffer.coverage.written, buffer.bytes)));
    }
    json.Put("],");
}

}  // namespace

namespace {

// So many bytes as one number, or null.
void PutValue(Json& json, const char* name, const uint8_t* value, uint32_t bytes, bool known) {
    uint64_t bits = 0;
    memcpy(&bits, value, bytes);
    if (known) json.Put(",\"%s\":%llu", name, static_cast<unsigned long long>(bits));
}

void PutStep(Json& json, const Launch& launch, const JournalStep& s) {
    json.Put("{\"parent\":%d,\"role\":\"%s\",\"memory\":", s.parent, s.role);
    json.Text(s.memory);
    json.Put(",\"offset\":%llu,\"bytes\":%u,\"dtype\":%d", static_cast<unsigned long long>(s.offset), s.bytes, s.dtype);
    PutValue(json, "after", s.after, s.bytes, s.knows_after);
    if (s.instruction != nullptr) {
        json.Put(",\"instruction\":");
        json.Text(s.instruction);
        json.Put(",\"pc\":%llu,\"sequence\":%llu,\"block\":%lld,\"kind\":\"%s\",\"pipe\":\"%s\"",
                 static_cast<unsigned long long>(s.place), static_cast<unsigned long long>(s.sequence),
                 static_cast<long long>(s.core / launch.CoresPerBlock()), CoreKindName(launch.KindOf(s.core)),
                 PipeName(s.pipe));
        PutValue(json, "before", s.before, s.bytes, s.knows_before);
        if (s.has_scalar)
            json.Put(",\"scalar\":%llu,\"scalar_dtype\":%d", static_cast<unsigned long long>(s.scalar), s.scalar_type);
    }
    json.Put("}");
}

// The way back from every watched place.
void PutJournal(Json& json, const Launch& launch) {
    constexpr int kMostSteps = 96;
    static JournalStep steps[kMostSteps];
    json.Put("\"journal\":[");
    for (int w = 0; w < launch.journal->watches(); ++w) {
        int count = launch.journal->Follow(w, steps, kMostSteps);
        json.Put("%s[", w == 0 ? "" : ",");
        for (int i = 0; i < count; ++i) {
            if (i > 0) json.Put(",");
            PutStep(json, launch, steps[i]);
        }
        json.Put("]");
    }
    json.Put("],");
}

}  // namespace

void ReportFinished(const Launch& launch, const Totals& totals) {
    Json& json = Document();
    json.Open();
    json.Put("\"status\":\"finished\",\"blocks\":%lld,", static_cast<long long>(launch.blocks));
    json.Put("\"bytes_in\":%llu,\"bytes_out\":%llu,\"ub_used\":%u,", static_cast<unsigned long long>(totals.bytes_in),
             static_cast<unsigned long long>(totals.bytes_out), totals.ub_used);
    json.Put("\"talks\":%s,", launch.talks ? "true" : "false");
    bool failed = false;
    for (int i = 0; i < totals.diagnostics.size(); ++i)
        failed = failed || totals.diagnostics[i].severity == Severity::Error;
    if (!failed && launch.tapes != nullptr) {
        PutProfile(json, launch, totals);
        json.Put(",");
    }
    PutBuffers(json, launch.memory);
    if (launch.journal != nullptr) {
        PutJournal(json, launch);
        launch.journal->WriteRecord();
    }
    json.Put("\"diagnostics\":[");
    for (int i = 0; i < totals.diagnostics.size(); ++i) {
        const Diagnostic& d = totals.diagnostics[i];
        json.Put(
            "%s{\"severity\":\"%s\",\"rule\":\"%s\",\"pc\":%llu,\"related\":%llu,\"block\":%lld,\"kind\":\"%s\","
            "\"count\":%llu,\"message\":",
            i == 0 ? "" : ",", SeverityName(d.severity), d.rule, static_cast<unsigned long long>(d.pc),
            static_cast<unsigned long long>(d.related), static_cast<long long>(d.block), CoreKindName(d.kind),
            static_cast<unsigned long long>(d.count));
        json.Text(d.message);
        json.Put(",\"remedy\":");
        json.Text(d.remedy);
        json.Put("}");
    }
    json.Put("]}\n");
    json.Send();
}

}  // namespace twin
