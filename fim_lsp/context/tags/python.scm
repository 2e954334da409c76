(class_definition name: (identifier)) @whole
(function_definition name: (identifier)) @whole
