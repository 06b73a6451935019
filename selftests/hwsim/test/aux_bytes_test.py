#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests where aux-bytes finds the parts of a trace: sessions begin alike, so a part that has only that may be of several."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

path = pathlib.Path(__file__).parent.parent / "aux-bytes"
loader = importlib.machinery.SourceFileLoader("aux_bytes", str(path))
sys.dont_write_bytecode = True
aux_bytes = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
sys.modules[loader.name] = aux_bytes
loader.exec_module(aux_bytes)

BEGIN = bytes(11) + b"\x80" + bytes(range(1, 32))
A, B, C = (bytes([n]) + bytes((7 * n + 3 * i) % 200 + 20 for i in range(100)) for n in (1, 2, 3))
SECOND, THIRD = len(BEGIN + A), 2 * len(BEGIN + A)


def judged(*parts, untold=()):
    """The holes and what is wrong, and where each part was placed, of parts (area, where it begins there, bytes), all but those of
    these numbers behind a record that tells of a loss."""
    raw = aux_bytes.Raw(BEGIN + A + BEGIN + B + BEGIN + C)
    raw.parts = [aux_bytes.Part(area, at, n not in untold, data) for n, (area, at, data) in enumerate(parts)]
    wrong = raw.place()
    if wrong:
        return [], wrong, []
    return *raw.missing(True), [part.pieces[0][0] for part in raw.parts]


class Placement(unittest.TestCase):
    def test_all_of_it(self):
        self.assertEqual(judged((0, 0, BEGIN + A + BEGIN + B), (1, 0, BEGIN + C)), ([], None, [0, THIRD]))

    def test_beginnings_of_all_sessions(self):
        self.assertEqual(judged((0, 0, BEGIN), (1, 0, BEGIN), (2, 0, BEGIN)), ([len(A)] * 3, None, [0, SECOND, THIRD]))

    def test_one_that_is_moved_for_another(self):
        """The first beginning may be of the second session or the third, the other one of the second only."""
        holes, wrong, places = judged((0, 0, BEGIN + A), (0, 200, BEGIN), (1, 0, BEGIN), (1, 64, B[50:]))
        self.assertIsNone(wrong)
        self.assertEqual(places[1:3], [THIRD, SECOND])
        self.assertEqual(sum(holes), 50 + len(C))

    def test_one_that_is_moved_into_a_hole(self):
        """The beginning may be of the second session or the third, but only one of them goes on without a record that tells of a loss."""
        for rest, untold, place in ((C, [2], THIRD), (B, [2], SECOND)):
            holes, wrong, places = judged((0, 0, BEGIN + A), (1, 0, BEGIN), (0, 200, rest), untold=untold)
            self.assertIsNone(wrong)
            self.assertEqual(places[1:], [place, place + len(BEGIN)])
            self.assertEqual(holes, [len(BEGIN + B)])

    def test_a_hole_that_nobody_tells_of(self):
        for parts, untold in ((((0, 0, BEGIN + A), (0, 200, C)), [1]), (((0, 0, BEGIN + A), (1, 0, BEGIN), (0, 200, C)), [1, 2])):
            with self.subTest(parts=parts):
                self.assertIn("nobody says so", judged(*parts, untold=untold)[1])

    def test_one_too_many(self):
        for parts in ([(n, 0, BEGIN) for n in range(4)], [(0, 0, BEGIN + A), (0, 200, BEGIN + B + BEGIN + C), (1, 0, BEGIN)],
                      [(0, 0, BEGIN + A), (0, 200, BEGIN), (1, 0, BEGIN), (1, 64, B[50:]), (2, 0, BEGIN)]):
            with self.subTest(parts=parts):
                self.assertIn("come twice", judged(*parts)[1])

    def test_what_is_not_there(self):
        self.assertIn("are not in the raw trace", judged((0, 0, BEGIN + b"\xff" * 40))[1])
        self.assertIn("are missing, and nobody says so", judged((0, 0, BEGIN + B[1:]))[1])


unittest.main()
