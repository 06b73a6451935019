# SPDX-License-Identifier: GPL-2.0-or-later
#
# For gdb, in a guest with virtual hardware: records the program `steps` by "record btrace", and writes down which instructions gdb
# finds in the trace. Where gdb's decoder cannot get from one instruction to the next it reports a gap.
#
#   gdb -batch -x btrace.py PROGRAM      environment: FORMATS, of "bts" and "pt"; PREFIX of the files PREFIX.FORMAT
import os

import gdb

UNTIL = {"bts": "steps_middle", "pt": "steps_end"}


def run_to(command, mark):
    breakpoint = gdb.Breakpoint("*" + mark, internal=True)
    gdb.execute(command, to_string=True)
    if gdb.selected_frame().pc() != int(gdb.parse_and_eval("(unsigned long)" + mark)):
        raise gdb.GdbError("the program does not come to " + mark)
    breakpoint.delete()


def record(form):
    run_to("run", "steps_begin")
    gdb.execute("record btrace " + form)
    run_to("continue", UNTIL[form])
    instructions = gaps = 0
    reasons = {}
    with open(f"{os.environ['PREFIX']}.{form}", "w") as file:
        history = gdb.current_recording().instruction_history
        if history is None:
            raise gdb.GdbError("gdb finds no instructions in the trace of " + form)
        for one in history:
            if isinstance(one, gdb.RecordGap):
                gaps += 1
                reasons[one.reason_string] = reasons.get(one.reason_string, 0) + 1
            else:
                instructions += 1
                file.write(f"{one.pc:x}\n")
    said = "".join(f", {n} {reason}" for reason, n in reasons.items())
    print(f"{form}: {instructions} instructions, {gaps} gaps{said}")
    gdb.execute("record stop", to_string=True)
    gdb.execute("kill")


for setting in ("pagination off", "confirm off", "startup-with-shell off", "auto-load off", "debuginfod enabled off"):
    gdb.execute("set " + setting)
for signal in ("SIGUSR1", "SIGUSR2", "SIGSEGV", "SIGFPE"):
    gdb.execute(f"handle {signal} nostop noprint pass", to_string=True)
# This hardware has no errata to work around, and the decoder refuses a processor that it does not know.
gdb.execute("set record btrace cpu none")
try:
    for form in os.environ["FORMATS"].split():
        gdb.execute(f"set record btrace {form} buffer-size 1048576")
        record(form)
except Exception as error:
    # Not by gdb's own exit, which may try once more to decode what it could not.
    print(f"{type(error).__name__}: {error}", flush=True)
    gdb.flush()
    os._exit(1)
