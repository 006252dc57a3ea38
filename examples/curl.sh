#!/bin/sh
# One request, and the headers in which Turnfold says what it did.
set -eu
: "${OPENAI_BASE_URL:=http://127.0.0.1:8420/v1}"
curl --silent --show-error --fail-with-body --dump-header - "$OPENAI_BASE_URL/chat/completions" \
  --header "authorization: Bearer ${OPENAI_API_KEY:-none}" \
  --header "content-type: application/json" \
  --data "{\"model\": \"${MODEL:-gpt-4o-mini}\", \"messages\": [{\"role\": \"user\", \"content\": \"What is a heron?\"}]}"
