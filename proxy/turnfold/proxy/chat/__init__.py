"""The stations of a request to a model, in the order that ``service`` gives them."""
