"""Stacks: lists of constructs."""
