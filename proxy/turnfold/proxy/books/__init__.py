"""The books: records of requests, and the reports made from them.

A receipt describes one request (``chat.receipts``). The ledger writes receipts and originals to the store, the roll-ups are sums
of receipts by hour and day, the report is made from the roll-ups. A section record is a folded section's originals in the store.
"""
