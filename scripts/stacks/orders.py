"""As orders.c."""

import sys
import time


def orders_work(parts):
    x = 88172645
    for _ in range(parts * 2000):
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
    return x


def orders_parse():
    return orders_work(1) + 1


def orders_price():
    return orders_work(2) + 1


def orders_report():
    return orders_work(5) + 1


def orders_run(until):
    total = 0
    while time.monotonic() < until:
        total += orders_parse() + orders_price() + orders_report()
    return total


orders_run(time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else 2))
