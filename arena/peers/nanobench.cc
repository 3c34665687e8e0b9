// Two amounts of one work, weighed by nanobench: WORK LEFT RIGHT SECONDS on the command line, one
// line of JSON on standard output.
//
// The library gives two figures and the error that is printed beside each. What follows from them is decided by
// whoever reads the line.

#define ANKERL_NANOBENCH_IMPLEMENT
#include <nanobench.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>

extern "C" uint64_t tenbin_work(uint32_t index, uint64_t operations);

namespace {

using ankerl::nanobench::Bench;
using Measure = ankerl::nanobench::Result::Measure;
using Watch = std::chrono::steady_clock;

// Length of an epoch. Few short ones are interrupted, so their median is that of quiet ones.
constexpr auto EPOCH = std::chrono::microseconds(100);
// Epochs in a row before it is the other side's turn: the library's default for one measurement.
constexpr size_t TURN = 11;

// Measure one side for a turn, and add what each of its epochs took per call to `epochs`.
void take_turn(uint32_t work, uint64_t operations, std::vector<double>& epochs) {
    Bench bench;
    bench.output(nullptr).minEpochTime(EPOCH).epochs(TURN);
    bench.run("work", [&] { ankerl::nanobench::doNotOptimizeAway(tenbin_work(work, operations)); });
    auto const& result = bench.results().back();
    for (size_t epoch = 0; epoch < result.size(); ++epoch) {
        epochs.push_back(result.get(epoch, Measure::elapsed));
    }
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    auto const middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// What the library prints as err%, here over all turns: the median of |x - median| / x.
double error(std::vector<double> values) {
    double const middle = median(values);
    for (auto& value : values) {
        value = std::fabs((value - middle) / value);
    }
    return median(values);
}

// The medians of both sides and their errors, over turns until the time is over.
void compare(uint32_t work, uint64_t left, uint64_t right, double seconds) {
    std::vector<double> lefts;
    std::vector<double> rights;
    auto const started = Watch::now();
    do {
        take_turn(work, left, lefts);
        take_turn(work, right, rights);
    } while (Watch::now() - started < std::chrono::duration<double>(seconds));
    std::cout << "\"left\": {\"median\": " << median(lefts) << ", \"error\": " << error(lefts)
              << "}, \"right\": {\"median\": " << median(rights) << ", \"error\": " << error(rights) << "}";
}

} // namespace

int main(int count, char** arguments) {
    if (count != 5) {
        std::cerr << "usage: nanobench WORK LEFT RIGHT SECONDS\n";
        return 2;
    }
    auto const work = static_cast<uint32_t>(std::strtoul(arguments[1], nullptr, 10));
    uint64_t const left = std::strtoull(arguments[2], nullptr, 10);
    uint64_t const right = std::strtoull(arguments[3], nullptr, 10);
    double const seconds = std::strtod(arguments[4], nullptr);
    // Preparing a work takes time, and is no part of it.
    if (tenbin_work(work, 0) != 0) {
        std::cerr << "cannot prepare the work number " << work << "\n";
        return 2;
    }
    std::cout.precision(9);
    std::cout << "{\"version\": \"" << ANKERL_NANOBENCH_VERSION_MAJOR << '.' << ANKERL_NANOBENCH_VERSION_MINOR
              << '.' << ANKERL_NANOBENCH_VERSION_PATCH << "\", ";
    compare(work, left, right, seconds);
    std::cout << "}\n";
    return 0;
}
