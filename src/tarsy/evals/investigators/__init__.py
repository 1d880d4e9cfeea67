"""Scripted investigators, which need no key and answer through the normal pipeline. They test the cases and the prompts."""
