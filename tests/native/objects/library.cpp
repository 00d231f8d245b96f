// A program of the standard library's templates, compiled where there is a compiler: much is inlined.
#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

struct Item {
    std::string name;
    double price;
};

int main(int count, char **)
{
    std::map<std::string, std::vector<Item>> orders;
    for (int n = 0; n < 1000 * count; n++) {
        std::ostringstream name;
        name << "order " << n % 17;
        orders[name.str()].push_back({name.str() + "!", double(n)});
    }
    double sum = 0;
    for (auto &[name, items] : orders) {
        std::sort(items.begin(), items.end(), [](auto &a, auto &b) { return a.price > b.price; });
        for (auto &item : items)
            sum += item.price * item.name.size();
    }
    std::printf("%f\n", sum);
}
