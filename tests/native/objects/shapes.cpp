// Names that have to be read: namespaces, templates, operators, lambdas, constructors.
extern "C" double sqrt(double);

namespace shop {
template <class T> struct Range {
    T low, high;
    inline __attribute__((always_inline)) T clamp(T x) const { return x < low ? low : high < x ? high : x; }
    bool operator<(const Range &other) const;
};

template <class T> __attribute__((noinline)) bool Range<T>::operator<(const Range &other) const
{
    return clamp(other.low) < other.clamp(high);
}

struct Counter {
    static int made;
    int n;
    __attribute__((noinline)) explicit Counter(int n) : n(n) { ++made; }
};
int Counter::made;

namespace {
__attribute__((noinline)) double scramble(double x)
{
    auto twice = [](double y) __attribute__((always_inline)) { return sqrt(y) * 2; };
    auto again = [&](double y) __attribute__((always_inline)) { return twice(twice(y)) + x; };
    return again(x) - again(x + 1);
}
}

template struct Range<int>;
template struct Range<double>;

int run(int x)
{
    struct Local {
        __attribute__((noinline)) static int step(int y) { return Range<int>{1, 9}.clamp(y) + Counter(y).n; }
    };
    return Local::step(x) + (int)scramble(x);
}
}
