// As orders.c, through a virtual method, a std::function and a sort whose comparison computes.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#define OWN __attribute__((noinline, noclone, noipa))

static volatile std::uint64_t kept;
OWN void orders_keep(std::uint64_t x) { kept = kept + x; }

OWN std::uint64_t orders_work(long parts) {
  std::uint64_t x = 88172645463325252u;
  for (long n = parts * 40000; n; n--) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

struct Step {
  virtual ~Step() = default;
  virtual void take() = 0;
};
struct Parse : Step {
  OWN void orders_parse() { orders_keep(orders_work(1)); }
  void take() override { orders_parse(); orders_keep(1); }
};
struct Price : Step {
  OWN void orders_price() { orders_keep(orders_work(2)); }
  void take() override {
    std::function<void()> call = [this] { orders_price(); orders_keep(1); };
    call();
    orders_keep(1);
  }
};
struct Report : Step {
  // A sort of two makes one comparison.
  OWN void orders_report() {
    std::vector<long> parts{5, 4};
    std::sort(parts.begin(), parts.end(), [](long a, long b) { orders_keep(orders_work(5)); return a < b; });
    orders_keep(parts[0]);
  }
  void take() override { orders_report(); orders_keep(1); }
};

OWN void orders_run(double seconds) {
  std::vector<std::unique_ptr<Step>> steps;
  steps.push_back(std::make_unique<Parse>());
  steps.push_back(std::make_unique<Price>());
  steps.push_back(std::make_unique<Report>());
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  do {
    std::for_each(steps.begin(), steps.end(), [](auto &step) { step->take(); });
  } while (std::chrono::steady_clock::now() < end);
}

int main(int argc, char **argv) {
  orders_run(argc > 1 ? std::atof(argv[1]) : 2);
  return 0;
}
