import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Kinds of work in turns, with garbage: the Java program of scripts/sweep/kinds. */
public class Stages {
    static final int HOT = 100, ALL = 100;

    record Row(int number, String name, int value) {}

    static int turns(int count) {
        return count * ALL / 100;
    }

    static List<String> generate(int seed) {
        List<String> lines = null;
        for (int turn = 0; turn < turns(20); turn++) {
            lines = new ArrayList<>();
            for (int number = 0; number < 60; number++) {
                seed = seed * 1664525 + 1013904223;
                lines.add(number + ",name-" + (seed >>> 8) % 97 + "," + (seed >>> 8) % 1000);
            }
        }
        return lines;
    }

    static List<Row> parse(List<String> lines) {
        List<Row> rows = null;
        for (int turn = 0; turn < turns(20); turn++) {
            rows = new ArrayList<>();
            for (String line : lines) {
                String[] parts = line.split(",");
                rows.add(new Row(Integer.parseInt(parts[0]), parts[1], Integer.parseInt(parts[2])));
            }
        }
        return rows;
    }

    static Map<String, List<Integer>> group(List<Row> rows) {
        Map<String, List<Integer>> groups = null;
        for (int turn = 0; turn < turns(20); turn++) {
            groups = new HashMap<>();
            for (Row row : rows) {
                groups.computeIfAbsent(row.name(), name -> new ArrayList<>()).add(row.value() * row.number());
            }
        }
        return groups;
    }

    static Map<String, Double> smooth(Map<String, List<Integer>> groups) {
        Map<String, Double> smoothed = new TreeMap<>();
        for (int turn = 0; turn < turns(20); turn++) {
            for (Map.Entry<String, List<Integer>> group : groups.entrySet()) {
                double last = 0;
                for (int value : group.getValue()) last = 0.9 * last + 0.1 * value;
                smoothed.put(group.getKey(), last);
            }
        }
        return smoothed;
    }

    static int render(Map<String, Double> smoothed) {
        int length = 0;
        for (int turn = 0; turn < turns(10); turn++) {
            StringBuilder rows = new StringBuilder();
            for (Map.Entry<String, Double> row : smoothed.entrySet()) rows.append(row.getKey()).append(row.getValue());
            length += rows.length();
        }
        return length;
    }

    static int checksum(String text) { // hot
        int total = 0;
        for (int turn = 0; turn < turns(300 * HOT / 100); turn++) {
            for (int n = 0; n < 600; n++) total = total * 31 + text.charAt(n);
        }
        return total;
    }

    static int order(List<Row> rows) {
        int first = 0;
        for (int turn = 0; turn < turns(20); turn++) {
            int[] values = new int[rows.size()];
            for (int n = 0; n < values.length; n++) values[n] = rows.get(n).value() ^ turn;
            Arrays.sort(values);
            first += values[7];
        }
        return first;
    }

    static long bits(List<Row> rows) {
        long count = 0;
        for (int turn = 0; turn < turns(100); turn++) {
            for (Row row : rows) for (int left = row.value() + turn; left != 0; left &= left - 1) count++;
        }
        return count;
    }

    static int sumOf(List<String> lines) {
        String text = String.join("", lines);
        int total = checksum(text); // call
        return total;
    }

    static long workStage(List<Row> rows) {
        return order(rows) + bits(rows) + render(smooth(group(rows)));
    }

    public static void main(String[] arguments) {
        long total = 0;
        for (int turn = 0; turn < Integer.parseInt(arguments[0]); turn++) {
            List<String> lines = generate(turn);
            total += sumOf(lines) + workStage(parse(lines));
        }
        System.out.println(total);
    }
}
