"""`make bench`: everything that is counted and measured, table by table."""

from tests.benchmarks import cost, steps, write_units

if __name__ == "__main__":
    write_units.main()
    steps.main()
    cost.main()
