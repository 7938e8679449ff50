"""The story of `make run`: a few days of real jobs on a virtual clock, with everything that goes wrong."""
