#!/usr/bin/env python3
"""Asks TLC for the last word of each `check` line of the case files, and writes it there.

    python3 truth.py path/to/tla2tools.jar cases.txt random.txt
    python3 truth.py --random 1 200 > random.txt

README.md beside this file says where the jar comes from, and what the files hold.
"""

import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HOLDS = "No error has been found"
VIOLATED = "Temporal properties were violated"


def name(action):
    return "A_" + action.replace("-", "_")


def conjunct(assumption):
    """WF(a,b) as TLA+: the actions of a class are one action."""
    kind, actions = re.fullmatch(r"(WF|SF)\((.*)\)", assumption).groups()
    return f"{kind}_n(" + " \\/ ".join(map(name, actions.split(","))) + ")"


def formula(words):
    if "~>" in words:
        p, _, q = words
        return f"(n \\in {p}) ~> (n \\in {q})"
    operator, goal = words
    return f"{operator}(n \\in {goal})"


def module(graph, check):
    """One specification: the graph, the assumptions of one check, and its property."""
    actions = {}
    for source, action, target in graph["edges"]:
        actions.setdefault(action, []).append(f"\\/ n = {source} /\\ n' = {target}")
    fairness = [word for word in check if word[:3] in ("WF(", "SF(")]
    for assumption in fairness:
        for action in assumption[3:-1].split(","):
            actions.setdefault(action, ["FALSE"])
    lines = ["---- MODULE M ----", "EXTENDS Integers", "VARIABLE n"]
    for action, steps in actions.items():
        lines += [f"{name(action)} =="] + [f"  {step}" for step in steps]
    lines += ["Init == n \\in {" + ", ".join(graph["init"]) + "}"]
    lines += ["Next == " + (" \\/ ".join(map(name, actions)) or "FALSE")]
    lines += ["Spec == " + " /\\ ".join(["Init", "[][Next]_n"] + [conjunct(it) for it in fairness])]
    lines += ["Property == " + formula([word for word in check if word not in fairness]), "===="]
    return "\n".join(lines) + "\n"


def ask(jar, graph, check):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "M.tla").write_text(module(graph, check))
        Path(folder, "M.cfg").write_text("SPECIFICATION Spec\nPROPERTY Property\n")
        flags = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", f"-Djava.io.tmpdir={folder}"]
        command = ["java", *flags, "-cp", jar, "tlc2.TLC", "-deadlock", "-config", "M.cfg", "M.tla"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if (HOLDS in run.stdout) == (VIOLATED in run.stdout):
        raise SystemExit(f"TLC decides nothing:\n{module(graph, check)}\n{run.stdout}{run.stderr}")
    return "holds" if HOLDS in run.stdout else "violated"


def judge(jar, path):
    """Rewrites the verdicts of a file; tells what they were where they change."""
    lines = path.read_text().splitlines()
    graph, jobs = None, []
    for number, line in enumerate(lines):
        words = line.split()
        match words[:1]:
            case ["graph"]:
                graph = {"edges": [], "init": []}
            case ["init"]:
                graph["init"] = words[1:]
            case ["edge"]:
                graph["edges"].append(words[1:])
            case ["check"]:
                jobs.append((number, graph, words[1:-1], words[-1]))
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(lambda job: ask(jar, job[1], job[2]), jobs))
    for (number, _, check, before), verdict in zip(jobs, verdicts):
        lines[number] = " ".join(["check", *check, verdict])
        if before not in ("?", verdict):
            print(f"{path}:{number + 1}: was {before}, TLC says {verdict}", file=sys.stderr)
    path.write_text("\n".join(lines) + "\n")


def some_set(dice, nodes, least):
    chosen = dice.sample(range(nodes), dice.randint(least, max(least, nodes // 2)))
    return "{" + ",".join(map(str, sorted(chosen))) + "}"


def some_property(dice, nodes):
    operator = dice.choice(["<>", "[]<>", "<>[]", "~>"])
    if operator == "~>":
        return f"{some_set(dice, nodes, 1)} ~> {some_set(dice, nodes, 1)}"
    return f"{operator} {some_set(dice, nodes, 1)}"


def some_graph(dice, number):
    """A graph of three to seven nodes in which little is a dead end, and two checks on it."""
    nodes = dice.randint(3, 7)
    edges = {(node, dice.choice("abcd"), dice.randrange(nodes)) for node in range(nodes)}
    for _ in range(dice.randint(0, 2 * nodes)):
        edges.add((dice.randrange(nodes), dice.choice("abcd"), dice.randrange(nodes)))
    print(f"\ngraph random-{number}\ninit 0")
    for source, action, target in sorted(edges):
        print(f"edge {source} {action} {target}")
    for _ in range(2):
        assumed = []
        for action in dice.choice([["a", "b", "c", "d"], ["a,b", "c", "d"], ["a", "b,c"], ["a,b,c,d"]]):
            kind = dice.choice(["WF", "WF", "SF", "SF", None])
            assumed += [f"{kind}({action})"] if kind else []
        print(" ".join(["check", *assumed, some_property(dice, nodes), "?"]))


def main():
    if sys.argv[1:2] == ["--random"]:
        seed, count = map(int, sys.argv[2:4])
        print(f"# Written by `truth.py --random {seed} {count}`, judged by TLC.")
        dice = random.Random(seed)
        for number in range(count):
            some_graph(dice, number)
        return
    for path in sys.argv[2:]:
        judge(str(Path(sys.argv[1]).resolve()), Path(path))


main()
