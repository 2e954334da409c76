(struct_item name: (type_identifier)) @whole
(enum_item name: (type_identifier)) @whole
(union_item name: (type_identifier)) @whole
(trait_item name: (type_identifier)) @whole
(type_item name: (type_identifier)) @whole
(impl_item type: [(type_identifier) (generic_type type: (type_identifier))]) @whole
(function_item name: (identifier)) @whole
(function_signature_item name: (identifier)) @whole
(macro_definition name: (identifier)) @whole
