"""Runs in the forms that other tools read: one file per form."""
