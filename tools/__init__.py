"""What the Makefile's verbs run: the local stack, tokens, synth and the checks."""
