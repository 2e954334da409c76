(function_definition name: (word)) @whole
