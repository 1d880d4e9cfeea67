#!/bin/sh
# An MCP server over stdio that costs next to nothing: what is measured is the program that calls it.
# A request begins {"jsonrpc":"2.0","id":7,"method":…: its number is what stands before the next comma.
while IFS= read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    case $line in
        *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}' ;;
        *'"method":"tools/list"'*) result='{"tools":[{"name":"look","description":"Looks.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
        *'"method":"tools/call"'*) result='{"content":[{"type":"text","text":"pod/checkout-7d9f8b6c5-x2x4z   1/1   Running   3h"}]}' ;;
        *'"method":"ping"'*) result='{}' ;;
        *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
