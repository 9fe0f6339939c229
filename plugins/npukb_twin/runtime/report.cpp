#include "report.h"

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
        if (n > 0) size_ = size_ + static_cast<size_t>(n) < sizeof text_ ? size_ + static_cast<size_t>(n) : sizeof text_ - 1;
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
            if (n <= 0) return;
            sent += static_cast<size_t>(n);
        }
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

void Totals::Add(const Core& core, int64_t in_wave) {
    double end = core.time.End();
    if (in_wave != wave) {
        earlier_waves_cycles += longest_cycles;
        longest_cycles = 0;
        wave = in_wave;
    }
    longest_cycles = end > longest_cycles ? end : longest_cycles;
    core_cycles += end;
    for (int p = 0; p < npukb::kPipes; ++p) {
        busy_cycles[p] += core.time.Busy(static_cast<Pipe>(p));
        waited_cycles[p] += core.time.Waited(static_cast<Pipe>(p));
        instructions[p] += core.time.Instructions(static_cast<Pipe>(p));
    }
    bytes_in += core.bytes_in;
    bytes_out += core.bytes_out;
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

void ReportSignal(int signal, uint64_t pc, uint64_t address, bool stack_overflow) {
    Json& json = Document();
    json.Open();
    json.Put("\"status\":\"signal\",\"signal\":%d,\"pc\":%llu,\"address\":%llu,\"stack_overflow\":%s}\n", signal,
             static_cast<unsigned long long>(pc), static_cast<unsigned long long>(address), stack_overflow ? "true" : "false");
    json.Send();
}

void ReportFinished(const Launch& launch, const Totals& totals) {
    Json& json = Document();
    double us = 1e6 / launch.machine.clock_hz;
    double started = static_cast<double>(launch.blocks < launch.cores ? launch.blocks : launch.cores);
    double overhead_s = launch.machine.launch_s + launch.machine.launch_per_core_s * started;
    double blocks = static_cast<double>(launch.blocks);
    double moved_s = static_cast<double>(totals.bytes_in + totals.bytes_out) / launch.machine.hbm_bytes_per_s;
    double cores_us = (totals.earlier_waves_cycles + totals.longest_cycles) * us;
    if (cores_us < moved_s * 1e6) cores_us = moved_s * 1e6;  // memory serves all cores together, in and out
    json.Open();
    json.Put("\"status\":\"finished\",\"blocks\":%lld,", static_cast<long long>(launch.blocks));
    json.Put("\"time_us\":%.17g,", cores_us + overhead_s * 1e6);
    json.Put("\"core_time_us\":%.17g,", totals.core_cycles / blocks * us);
    json.Put("\"bytes_in\":%llu,\"bytes_out\":%llu,\"pipes\":{", static_cast<unsigned long long>(totals.bytes_in),
             static_cast<unsigned long long>(totals.bytes_out));
    for (int p = 0; p < npukb::kPipes; ++p) {
        json.Put("%s\"%s\":{\"busy_us\":%.17g,\"wait_us\":%.17g,\"instructions\":%llu}", p == 0 ? "" : ",",
                 PipeName(static_cast<Pipe>(p)), totals.busy_cycles[p] / blocks * us, totals.waited_cycles[p] / blocks * us,
                 static_cast<unsigned long long>(totals.instructions[p]));
    }
    json.Put("},\"diagnostics\":[");
    for (int i = 0; i < totals.diagnostics.size(); ++i) {
        const Diagnostic& d = totals.diagnostics[i];
        json.Put("%s{\"severity\":\"%s\",\"rule\":\"%s\",\"pc\":%llu,\"related\":%llu,\"block\":%lld,\"count\":%llu,\"message\":",
                 i == 0 ? "" : ",", SeverityName(d.severity), d.rule,
                 static_cast<unsigned long long>(d.pc), static_cast<unsigned long long>(d.related), static_cast<long long>(d.block),
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
