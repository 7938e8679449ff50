"""The jobs of the stack on which nothing goes wrong."""
