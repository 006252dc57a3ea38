"""Tools of the test suite: values in, findings out. Nothing here is a test, and nothing of the product imports it."""
