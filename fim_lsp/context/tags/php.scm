(class_declaration name: (name)) @whole
(interface_declaration name: (name)) @whole
(trait_declaration name: (name)) @whole
(enum_declaration name: (name)) @whole
(function_definition name: (name)) @whole
(method_declaration name: (name)) @whole
