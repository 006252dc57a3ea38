"""What a request would have cost without Turnfold: a model of the provider's prompt cache for the unfolded conversation.

- ``past_request``: what the model remembers of a conversation between two requests, as one record.
- ``predecessor``: which of the remembered requests a new one follows.
- ``evidence``: what a request's usage shows about the cache.
- ``bills``: the tokens that the request would have been billed for unfolded, or folded if it was only observed.
- ``succession``: what is remembered for the next request.

It counts in tokens: prices belong to ``config.prices``, sums and storage to ``books``.

The model, for requests of one conversation in their order:

- Unfolded, a request would have had ``before`` tokens by our count. They are scaled to the upstream's count by the ratio of the
  conversation's last request that was sent whole and was not tiny, or of this request if there was none.
- Of these, the part that repeats the last received request (by their trails) could have come from the cache.
- Whether the cache would have held it is inferred from the request that was sent. A warm cache holds what that request repeats of
  the last sent one: if the upstream reports at least half of it as cached, the cache was warm and would have held the unfolded
  prefix too; if less, it was cold and would have held no more of the unfolded prefix than of the sent one. So a miss caused by an
  idle user is never booked as a saving, and a miss caused by folding is never booked as a miss of the unfolded conversation.
- A request that repeats too little is no evidence. The model then uses the share of warm requests among the conversation's
  requests after a similar pause, or 1 if there are none yet, which makes our saving smaller, not larger.
- If caches hit only at marks, and all of these asked for less time than has passed, what counts as usual is a cold cache.
- If caches hit only at marks, a prefix is reusable up to a mark of an earlier request, or up to that request's end where
  providers keep that too. The client's marks tell (``trails.cache_entries``); what precedes the last one would have been written.
- If such a provider gets no mark from the client, a fold event without a hit has two possible reasons: a cold cache, or no mark
  inside the repeated prefix. Their probabilities follow from the conversation's earlier fold events and the requests in between.
- Prefixes are cached in steps of 128 tokens, unless the upstream reports tokens written to the cache: then everything that is not
  read would have been written.
- A request that was not folded, in a conversation that never was, costs the same with and without.
- Sessions that begin alike share one name, and so do branches of one session: parallel agents, an edited chat. A request follows
  the one of the last few requests of which it repeats most. The others are kept for the requests that follow them.
- If the tools change, everything cached before is lost, with Turnfold and without: tools precede all messages.
- Each model has a cache of its own, so a request follows one for its own model. If there is none yet, nothing is cached. The same
  goes for each `prompt_cache_key`, unless the request evidently found what was cached under another key.
- A request without reported usage, such as a stream that its client left, is in the cache all the same. Later requests follow it
  as if it had had the tokens that we counted.
- A request can be found in the cache once its answer has begun, not before (Anthropic, "Prompt caching": "a cache entry only
  becomes available after the first response begins"). So a request follows none that was still being read when it arrived;
  whatever it found in the cache nevertheless would have been found unfolded too. Nobody knows when an unstreamed answer
  began: the model allows for half a second at most.
- If remembered requests had to be dropped, a request that follows none of the rest may follow one of those. All of it could then
  have come from the cache, which makes our saving smaller, not larger. If it was not folded, it costs the same with and without.

Without a conversation label only the request's own share of cached tokens is known, and it is used for both.
"""
