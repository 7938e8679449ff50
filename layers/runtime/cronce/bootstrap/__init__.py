"""Composition root: puts together what each function is made of, one module a function.

Each of `scheduler`, `dispatcher`, `executor` and `watchdog` reads its settings, makes its clients and its
part of the engine at the first call, and gives the same objects at every later one: a warm process keeps its
connections. Importing makes nothing, and a handler imports the module of its own function only: what the
others need would make every cold start longer.
"""
