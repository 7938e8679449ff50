"""The jobs of the stack that faults are played on."""
