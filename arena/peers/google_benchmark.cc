// One work as a Google Benchmark. Which one, and how much of it, stands in the environment: the
// command line is the library's.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>

extern "C" uint64_t tenbin_work(uint32_t index, uint64_t operations);

static bool number(char const* name, uint64_t& value) {
    char const* text = std::getenv(name);
    if (text == nullptr) {
        std::cerr << "cannot read " << name << ": it is not set; set it to a number\n";
        return false;
    }
    value = std::strtoull(text, nullptr, 10);
    return true;
}

int main(int count, char** arguments) {
    uint64_t index = 0;
    uint64_t operations = 0;
    if (!number("ARENA_WORK", index) || !number("ARENA_OPERATIONS", operations)) {
        return 2;
    }
    auto const work = static_cast<uint32_t>(index);
    // Preparing a work takes time, and is no part of it.
    if (tenbin_work(work, 0) != 0) {
        std::cerr << "cannot prepare the work number " << work << "\n";
        return 2;
    }
    // Wall time: a work that sleeps in the kernel costs more than its share of the CPU.
    benchmark::RegisterBenchmark("work", [=](benchmark::State& state) {
        for (auto _ : state) {
            benchmark::DoNotOptimize(tenbin_work(work, operations));
        }
    })->UseRealTime();
    benchmark::Initialize(&count, arguments);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
